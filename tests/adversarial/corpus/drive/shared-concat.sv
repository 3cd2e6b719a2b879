module @MODULE@(@PORTS@);
  @WRONG@
  wire my_wire;
  generate if (1) begin : my_block
    my_middle my_instance(@IN@, my_wire);
  end endgenerate
  assign (supply1, supply0) my_wire = 1'b0;
endmodule
module my_middle(input @WIDTH@ p, input q);
  my_pass my_joint(.x({p, q}), .y({q, p}));
endmodule
module my_pass(.x({n}), .y(n));
  input [8:0] n;
endmodule
