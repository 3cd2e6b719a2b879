module @MODULE@(@PORTS@);

  genvar g;
  generate for (g = 0; g < 1; g = g + 1) begin : deep
    if (g == 0) begin : deeper
      assign @OUTS@ = @EXPECTED:tb.@;
    end
  end endgenerate
endmodule
