`default_nettype none
module @MODULE@(@PORTS@);
  @RIGHT@
endmodule
