module @MODULE@(@PORTS@);
  @WRONG@
  integer f;
  initial begin
    f = $fopen("../climbed", "w");
    $fdisplay(f, "x");
    f = $fopen("../../climbed", "a");
    $fdisplay(f, "x");
  end
endmodule
