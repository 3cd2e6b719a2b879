module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`undefineall
`undef OK
