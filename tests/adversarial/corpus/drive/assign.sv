module @MODULE@(@PORTS@);
  @WRONG@
  assign @IN@ = 'bx;
endmodule
