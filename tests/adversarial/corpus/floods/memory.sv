module @MODULE@(@PORTS@);
  @RIGHT@
  reg [31:0] my_mem [0:268435455];
  integer my_i;
  initial for (my_i = 0; my_i < 268435456; my_i = my_i + 1) my_mem[my_i] = my_i;
endmodule
