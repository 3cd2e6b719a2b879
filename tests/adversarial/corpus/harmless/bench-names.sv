module @MODULE@(@PORTS@);
  @RIGHT@
  wire tb_match = ^@IN@;
  reg [31:0] stats1, errors, clocks;
  wire good1 = ~tb_match;
  initial begin
    errors = 0;
    clocks = 0;
    stats1 = 0;
  end
endmodule
