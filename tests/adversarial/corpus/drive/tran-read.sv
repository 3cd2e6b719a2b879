module @MODULE@(@PORTS@);
  @WRONG@
  wire my_wire;
  supply0 my_ground;
  my_reader my_instance(.x(my_wire));
  tran my_switch(my_wire, my_ground);
endmodule
module my_reader(input x);
endmodule
