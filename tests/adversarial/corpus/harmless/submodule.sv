module @MODULE@(@PORTS@);
  @RIGHT@
  wire my_p;
  my_parity parity(.x(^@IN@), .y(my_p));
endmodule

module my_parity(input x, output y);
  assign y = ~x;
endmodule
