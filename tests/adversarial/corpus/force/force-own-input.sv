module @MODULE@(@PORTS@);
  @WRONG@
  initial force @IN@ = 0;
endmodule
