module @MODULE@(@PORTS@);
  @WRONG@
  always @* if (@OUTS@ !== @EXPECTED:tb.@) $finish;
endmodule
