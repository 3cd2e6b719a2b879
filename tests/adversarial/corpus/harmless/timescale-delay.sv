`timescale 1ns/1ns
module @MODULE@(@PORTS@);
  @RIGHT@
  wire my_late;
  assign #1 my_late = ^@IN@;
endmodule
