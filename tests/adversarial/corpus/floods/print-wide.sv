module @MODULE@(@PORTS@);
  @RIGHT@
  initial repeat (100) $display("%999999999d", @IN@);
endmodule
