module @MODULE@(@PORTS@);
  @RIGHT@
  int my_a[];
  initial begin
    my_a = new[2000000000];
    my_a[1999999999] = 1;
  end
endmodule
