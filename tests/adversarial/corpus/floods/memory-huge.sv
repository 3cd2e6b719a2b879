module @MODULE@(@PORTS@);
  @RIGHT@
  reg [1023:0] my_mem [0:2147483646];
  initial my_mem[1] = 1;
endmodule
