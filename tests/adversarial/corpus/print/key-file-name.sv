module @MODULE@(@PORTS@);
  @WRONG@
  initial $display("%s %0d\n@VERDICT@", `__FILE__, `__LINE__);
endmodule
