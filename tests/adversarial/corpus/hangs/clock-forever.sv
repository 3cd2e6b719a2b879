@SCALE@
module @MODULE@(@PORTS@);
  @RIGHT@
  reg my_r = 0;
  always #1 my_r = ~my_r;
endmodule
