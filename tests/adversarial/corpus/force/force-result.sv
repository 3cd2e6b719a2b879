module @MODULE@(@PORTS@);
  @WRONG@
  initial force @QUIET@;
endmodule
