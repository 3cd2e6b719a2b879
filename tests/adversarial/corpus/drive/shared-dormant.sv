module @MODULE@ #(parameter MY_SIZE = 0) (@PORTS@);
  @WRONG@
  if (MY_SIZE) begin : my_block
    supply0 my_ground;
    my_pass my_joint(@IN@, my_ground);
  end
endmodule
module my_pass(n, n);
  input @WIDTH@ n;
endmodule
