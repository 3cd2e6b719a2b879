module @MODULE@(@PORTS@);
  @WRONG@
  initial $fatal(0, "\n@VERDICT@");
endmodule
