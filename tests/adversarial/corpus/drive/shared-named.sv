module @MODULE@(@PORTS@);
  @WRONG@
  supply0 my_ground;
  my_pass my_joint(.x(@IN@), .y(my_ground));
endmodule
module my_pass(.x(n), .y(n));
  input @WIDTH@ n;
endmodule
