module @MODULE@(@PORTS@);
  @WRONG@
  my_child my_instance(@IN@);
endmodule
module my_child(input tri0 @WIDTH@ p);
endmodule
