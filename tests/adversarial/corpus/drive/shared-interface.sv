interface my_joint(n, n);
  input @WIDTH@ n;
endinterface
module @MODULE@(@PORTS@);
  @WRONG@
  wire @WIDTH@ my_wire;
  supply0 my_ground;
  my_joint my_instance(@IN@, my_wire);
  tran my_switch(my_wire, my_ground);
endmodule
