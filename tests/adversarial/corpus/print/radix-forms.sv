module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $displayh("@VERDICT@");
    $writeb("@VERDICT@\n");
    $strobeo("@VERDICT@");
  end
endmodule
