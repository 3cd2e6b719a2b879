module @MODULE@(@PORTS@);
  @WRONG@
  buf (supply0, supply1) my_gate(@IN@, 1'bx);
endmodule
