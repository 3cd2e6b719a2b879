module @MODULE@(@PORTS@);
  @WRONG@
  always @(@IN@) if ($time > 0) $finish;
endmodule
