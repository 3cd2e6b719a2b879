`define L0 ( ( ( ( ( ( ( ( ( (
`define R0 ) ) ) ) ) ) ) ) ) )
`define L1 `L0 `L0 `L0 `L0 `L0 `L0 `L0 `L0 `L0 `L0
`define R1 `R0 `R0 `R0 `R0 `R0 `R0 `R0 `R0 `R0 `R0
`define L2 `L1 `L1 `L1 `L1 `L1 `L1 `L1 `L1 `L1 `L1
`define R2 `R1 `R1 `R1 `R1 `R1 `R1 `R1 `R1 `R1 `R1
`define L3 `L2 `L2 `L2 `L2 `L2 `L2 `L2 `L2 `L2 `L2
`define R3 `R2 `R2 `R2 `R2 `R2 `R2 `R2 `R2 `R2 `R2
`define L4 `L3 `L3 `L3 `L3 `L3 `L3 `L3 `L3 `L3 `L3
`define R4 `R3 `R3 `R3 `R3 `R3 `R3 `R3 `R3 `R3 `R3
module @MODULE@(@PORTS@);
  @RIGHT@
  wire my_w = `L4 1'b1 `R4;
endmodule
