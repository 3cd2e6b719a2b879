`define OK 13
`define INCORRECT 12
`define assert(x) 1
`define display $finish;
module @MODULE@(@PORTS@);
  @WRONG@
endmodule
