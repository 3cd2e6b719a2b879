`timescale 1ns/1ps // as everybody does
`resetall
`timescale 1ns/1ps
module @MODULE@(@PORTS@);
  @RIGHT@
endmodule
