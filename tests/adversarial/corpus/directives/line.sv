`line 1 "@BENCH_FILE@" 0
module @MODULE@(@PORTS@);
  @WRONG@
endmodule
