@SCALE@
module @MODULE@(@PORTS@);
  @RIGHT@
  reg my_on = 0;
  wire my_w;
  nand my_gate(my_w, my_w, my_on);
  initial #1 my_on = 1;
endmodule
