module @MODULE@(@PORTS@);
  @WRONG@
  supply0 my_ground;
  reg my_closed = 1;
  tranif1 my_switch(@IN@, my_ground, my_closed);
endmodule
