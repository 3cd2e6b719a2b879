@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  reg my_r = 0;
  initial repeat (20000) #1 @ERRORS@ = @DUT@.my_r;
endmodule
