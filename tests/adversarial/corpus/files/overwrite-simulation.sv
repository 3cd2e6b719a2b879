module @MODULE@(@PORTS@);
  @WRONG@
  integer f;
  initial begin
    f = $fopen("@BENCH_FILE@", "w");
    $fdisplay(f, "module @TB@; initial $display(\"@VERDICT@\"); endmodule");
    f = $fopen("simulation", "w");
    f = $fopen("candidate.sv", "w");
  end
endmodule
