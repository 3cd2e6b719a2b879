module @MODULE@(@PORTS@);
  @WRONG@
  integer f, c;
  reg [8*256-1:0] line;
  initial begin
    f = $fopen("@SECRET@", "r");
    c = $fgets(line, f);
    $display("%0s", line);
  end
endmodule
