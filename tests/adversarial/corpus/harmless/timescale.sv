`timescale 1ns / 1ps

module @MODULE@(@PORTS@);
  @RIGHT@
endmodule
