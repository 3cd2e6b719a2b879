module @MODULE@(@PORTS@);
  @RIGHT@
  integer my_i;
  initial repeat (2000000000) my_i = my_i + 1;
endmodule
