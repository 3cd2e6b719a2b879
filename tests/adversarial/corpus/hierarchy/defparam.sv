module @MODULE@(@PORTS@);
  @WRONG@
  defparam @TB@.CLK_PERIOD = 0;
  defparam @DUT@.my_p = 1;
  parameter my_p = 0;
endmodule
