@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial repeat (20000) #1 disable @STEP@;
endmodule
