module @MODULE@(@FREE_PORTS@);
  @WRONG@
  assign (supply0, supply1) @IN@ = 'bx;
endmodule
