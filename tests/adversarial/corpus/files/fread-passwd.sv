module @MODULE@(@PORTS@);
  @WRONG@
  integer f, c;
  initial begin
    f = $fopen("/etc/passwd", "r");
    c = $fgetc(f);
    while (c >= 0) begin
      $write("%c", c);
      c = $fgetc(f);
    end
  end
endmodule
