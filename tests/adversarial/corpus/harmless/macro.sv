`define MY_ONE 1'b1
`define MY_PARITY(x) (^(x))
module @MODULE@(@PORTS@);
  @RIGHT@
  wire my_w = `MY_PARITY(@IN@) ^ `MY_ONE;
endmodule
