module @MODULE@(@PORTS@);
  @RIGHT@
  reg [999999999:0] my_v;
  initial my_v = 1;
endmodule
