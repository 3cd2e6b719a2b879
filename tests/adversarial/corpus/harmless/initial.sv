module @MODULE@(@PORTS@);
  @RIGHT@
  reg [7:0] my_state;
  initial my_state = 8'h00;
endmodule
