module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`default_nettype none
