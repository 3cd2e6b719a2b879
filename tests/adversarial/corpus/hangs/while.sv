module @MODULE@(@PORTS@);
  @RIGHT@
  reg my_r;
  always @* begin
    my_r = ^@IN@;
    while (1) my_r = ~my_r;
  end
endmodule
