module @MODULE@(@PORTS@);
  @WRONG@
  assign (supply0, supply1) @CLK@ = 0;
endmodule
