@SCALE@
module @MODULE@(@PORTS@);
  @RIGHT@
  localparam MY_P = 1 << 1000000000;
  localparam [16777215:0] MY_Q = {16777216{1'b1}};
  wire [16777215:0] my_w = MY_Q * MY_Q ** MY_Q;
  initial #1 $display("%d", my_w);
endmodule
