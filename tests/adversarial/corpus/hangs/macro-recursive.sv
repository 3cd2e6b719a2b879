`define PING `PONG
`define PONG `PING
module @MODULE@(@PORTS@);
  @RIGHT@
  wire my_w = `PING;
endmodule
