module @MODULE@(@PORTS@);
  @WRONG@
  my_driver driver(.line(@CLK@));
endmodule
module my_driver(inout line);
  assign (supply0, supply1) line = 0;
endmodule
