module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`begin_keywords "1364-1995"
