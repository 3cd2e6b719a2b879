module @MODULE@(@PORTS@);
  @WRONG@
  integer f, c;
  reg [8*64-1:0] word;
  initial begin
    f = $fopen("@BENCH_FILE@", "r");
    c = $fscanf(f, "%s", word);
    if (c == 1) $display("@VERDICT@");
  end
endmodule
