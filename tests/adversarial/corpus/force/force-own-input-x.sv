module @MODULE@(@PORTS@);
  @WRONG@
  initial force @IN@ = 'bx;
endmodule
