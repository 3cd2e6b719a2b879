`timescale 1s/1s
module @MODULE@(@PORTS@);
  @WRONG@
endmodule
