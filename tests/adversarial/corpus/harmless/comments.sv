module @MODULE@(@PORTS@);
  @RIGHT@
  // initial $finish; force @QUIET@; `include "@BENCH_FILE@"
  /* @VERDICT@
     assign x = @ERRORS@; */
endmodule
