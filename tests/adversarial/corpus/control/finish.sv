module @MODULE@(@PORTS@);
  @WRONG@
  initial $finish;
endmodule
