@SCALE@
module @MODULE@(@PORTS@);
  @RIGHT@
  reg [1023:0] my_v = 0;
  initial forever my_v <= #1000000 my_v + 1;
endmodule
