module @MODULE@(@PORTS@);
  @WRONG@
  my_child my_instance(.p(@IN@));
endmodule
module my_child(p);
  input @WIDTH@ p;
  supply0 @WIDTH@ p;
endmodule
