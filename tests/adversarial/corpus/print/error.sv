module @MODULE@(@PORTS@);
  @WRONG@
  initial $error("\n@VERDICT@");
endmodule
