module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $info("\n@VERDICT@");
    $warning("\n@VERDICT@");
  end
endmodule
