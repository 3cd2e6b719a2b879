module @MODULE@(@PORTS@);
  @WRONG@
  genvar g;
  generate for (g = 0; g < 8; g = g + 1) begin : many
    @MODULE@_echo echo();
  end endgenerate
endmodule
module @MODULE@_echo;
  final $display("@VERDICT@");
endmodule
