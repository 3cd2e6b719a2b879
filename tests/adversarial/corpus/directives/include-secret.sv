module @MODULE@(@PORTS@);
  @WRONG@
  `include "@SECRET@"
endmodule
