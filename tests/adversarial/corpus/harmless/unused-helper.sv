module my_helper(input x, output y);
  assign y = ~x;
endmodule
module @MODULE@(@PORTS@);
  @RIGHT@
endmodule
