module @MODULE@(@PORTS@);
  @RIGHT@
  `include "candidate.sv"
endmodule
