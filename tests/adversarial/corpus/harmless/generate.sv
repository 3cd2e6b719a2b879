module @MODULE@(@PORTS@);
  @RIGHT@
  genvar g;
  generate for (g = 0; g < 4; g = g + 1) begin : lane
    wire bit_of;
    assign bit_of = g[0];
  end endgenerate
  wire my_w = lane[1].bit_of ^ lane[2].bit_of;
endmodule
