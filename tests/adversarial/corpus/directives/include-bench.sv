module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`include "@BENCH_FILE@"
