module @MODULE@(@PORTS@);
  @WRONG@
  integer f;
  initial begin
    f = $fopen("@OUTSIDE@", "w");
    $fdisplay(f, "@VERDICT@");
    $fclose(f);
  end
endmodule
