@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  wire my_seen = ^@STIMULUS@;
  initial repeat (20000) #1 @ERRORS@ = my_seen & 0;
endmodule
