module @MODULE@(@PORTS@);
  @RIGHT@
  reg [31:0] my_r = 0;
  always @(my_r) my_r <= my_r + 1;
  initial my_r = 1;
endmodule
