module @MODULE@(@PORTS@);
  @WRONG@
  initial $display("@VERDICT@");
  generate if (0) begin
