@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
endmodule
module my_root;
  initial repeat (20000) #1 @ERRORS@ = 0;
endmodule
