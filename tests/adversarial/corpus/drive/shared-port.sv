module @MODULE@(@PORTS@);
  @WRONG@
  wire @WIDTH@ my_wire;
  supply0 my_ground;
  my_pass my_joint(@IN@, my_wire);
  tran my_switch(my_wire, my_ground);
endmodule
module my_pass(n, n);
  input @WIDTH@ n;
endmodule
