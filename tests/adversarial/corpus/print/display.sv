module @MODULE@(@PORTS@);
  @WRONG@
  initial $display("@VERDICT@");
endmodule
