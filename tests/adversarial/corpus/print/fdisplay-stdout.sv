module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $fdisplay(32'h8000_0001, "@VERDICT@");
    $fdisplay(1, "@VERDICT@");
    $fdisplay(32'h8000_0002, "@VERDICT@");
  end
endmodule
