module @MODULE@(@PORTS@);
  @RIGHT@
  localparam MY_BITS = $clog2(200);
  wire signed [MY_BITS:0] my_s = $signed({1'b0, @IN@});
  initial $display("%0t %0d", $time, $bits(my_s));
endmodule
