module @MODULE@(@PORTS@);
  @WRONG@
  generate if (1) $fatal(0, "\n@VERDICT@"); endgenerate
endmodule
