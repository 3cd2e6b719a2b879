module @MODULE@(@PORTS@);
  @WRONG@
  final @ERRORS@ = 0;
endmodule
