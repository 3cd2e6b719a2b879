module @MODULE@(@PORTS@);
  @WRONG@
  always @(@ERRORS@) @ERRORS@ <= 0;
endmodule
