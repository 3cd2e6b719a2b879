module @MODULE@(@PORTS@);
  @RIGHT@
  genvar g;
  generate for (g = 0; g < 2000000000; g = g + 1) begin : many
    wire w = g;
  end endgenerate
endmodule
