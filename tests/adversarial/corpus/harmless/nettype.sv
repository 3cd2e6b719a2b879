`default_nettype none
module @MODULE@(@PORTS@);
  @RIGHT@
endmodule
`default_nettype wire
