module @MODULE@(@PORTS@);
  @WRONG@
  my_short short_it(.line(@IN@));
endmodule
module my_short(inout line);
  supply0 my_ground;
  tran my_switch(line, my_ground);
endmodule
