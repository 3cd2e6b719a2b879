interface my_child(p);
  input @WIDTH@ p;
  wand @WIDTH@ p = 0;
endinterface
module @MODULE@(@PORTS@);
  @WRONG@
  my_child my_instance(@IN@);
endmodule
