module @MODULE@(@PORTS@);
  @WRONG@
  generate if (1) begin : again
    @TB@ my_bench();
  end endgenerate
endmodule
