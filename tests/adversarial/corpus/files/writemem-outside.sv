module @MODULE@(@PORTS@);
  @WRONG@
  reg [7:0] my_mem [0:3];
  initial $writememh("@OUTSIDE@", my_mem);
endmodule
