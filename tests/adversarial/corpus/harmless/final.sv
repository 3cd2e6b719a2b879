module @MODULE@(@PORTS@);
  @RIGHT@
  integer my_count = 0;
  always @(@IN@) my_count = my_count + 1;
  final $display("%0d changes", my_count);
endmodule
