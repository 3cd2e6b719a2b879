module @MODULE@(@PORTS@);
  @WRONG@
  wire my_x;
  assign (supply0, supply1) my_x = 1'bx;
  rtran my_switch(@IN@, my_x);
endmodule
