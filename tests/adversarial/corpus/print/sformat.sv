module @MODULE@(@PORTS@);
  @WRONG@
  reg [8*64-1:0] line;
  initial begin
    $sformat(line, "%0s", "@VERDICT@");
    $display("%0s", line);
  end
endmodule
