module @MODULE@(@PORTS@);
  @WRONG@
  my_child my_instance(@IN@);
endmodule
module my_child(p);
  input @WIDTH@ p;
  wire (supply0, supply1) @WIDTH@ p = 0;
endmodule
