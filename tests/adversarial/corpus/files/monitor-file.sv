module @MODULE@(@PORTS@);
  @WRONG@
  integer f;
  initial begin
    f = $fopen("@OUTSIDE@");
    $fmonitor(f, "%b", @IN@);
  end
endmodule
