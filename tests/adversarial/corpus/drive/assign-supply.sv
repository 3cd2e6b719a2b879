module @MODULE@(@PORTS@);
  @WRONG@
  assign (supply0, supply1) @IN@ = 0;
endmodule
