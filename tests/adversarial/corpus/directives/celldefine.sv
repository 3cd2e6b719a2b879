module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`celldefine
`protect
