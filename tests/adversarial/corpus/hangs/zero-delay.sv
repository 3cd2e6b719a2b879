@SCALE@
module @MODULE@(@PORTS@);
  @RIGHT@
  reg my_r = 0;
  initial forever #0 my_r = ~my_r;
endmodule
