module @MODULE@(@PORTS@);
  @RIGHT@
  my_deep #(0) deep();
endmodule
module my_deep;
  parameter N = 0;
  my_deep #(N + 1) deeper();
endmodule
