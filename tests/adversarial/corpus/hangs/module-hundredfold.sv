module @MODULE@(@PORTS@);
  @RIGHT@
  my_deep #(8) deep();
endmodule
module my_deep;
  parameter N = 0;
  genvar g;
  generate for (g = 0; g < 100 * (N > 0); g = g + 1) begin : go
    my_deep #(N - 1) deeper();
  end endgenerate
endmodule
