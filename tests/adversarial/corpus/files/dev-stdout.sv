module @MODULE@(@PORTS@);
  @WRONG@
  integer f;
  initial begin
    f = $fopen("/dev/stdout", "w");
    $fdisplay(f, "@VERDICT@");
    $fflush(f);
    f = $fopen("/proc/self/fd/1", "a");
    $fdisplay(f, "@VERDICT@");
    $fflush(f);
    f = $fopen("/proc/self/fd/2", "a");
    $fdisplay(f, "@VERDICT@");
  end
endmodule
