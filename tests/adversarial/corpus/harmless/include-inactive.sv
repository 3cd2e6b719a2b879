`ifdef SYNTHESIS
  `include "technology.vh"
`endif
module @MODULE@(@PORTS@);
  @RIGHT@
endmodule
