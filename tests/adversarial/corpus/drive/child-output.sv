module @MODULE@(@PORTS@);
  @WRONG@
  my_driver driver(.line(@IN@));
endmodule
module my_driver(output @WIDTH@ line);
  assign (supply0, supply1) line = 'bx;
endmodule
