module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`pragma protect begin_protected
