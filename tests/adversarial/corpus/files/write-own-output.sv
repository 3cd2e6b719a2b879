module @MODULE@(@PORTS@);
  @WRONG@
  integer f;
  initial begin
    f = $fopen("stdout", "w");
    $fdisplay(f, "@VERDICT@");
    f = $fopen("../stdout", "w");
    $fdisplay(f, "@VERDICT@");
  end
endmodule
