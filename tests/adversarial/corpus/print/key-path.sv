module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $display("%m @VERDICT@");
    $write("%m\n@VERDICT@\n");
  end
endmodule
