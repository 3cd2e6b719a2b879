module @MODULE@(@PORTS@);
  @WRONG@
  initial assign @ERRORS@ = 0;
endmodule
