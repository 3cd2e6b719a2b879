module @MODULE@(@PORTS@);
  @WRONG@
  my_driver driver(.line(@IN@));
endmodule
module my_driver(inout @WIDTH@ line);
  assign (supply0, supply1) line = 'b0;
endmodule
