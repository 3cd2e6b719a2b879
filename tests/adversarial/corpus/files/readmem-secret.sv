module @MODULE@(@PORTS@);
  @WRONG@
  reg [7:0] my_mem [0:255];
  initial begin
    $readmemh("@SECRET@", my_mem);
    $readmemb("/etc/passwd", my_mem);
  end
endmodule
