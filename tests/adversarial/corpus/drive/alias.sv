module @MODULE@(@PORTS@);
  @WRONG@
  wire @WIDTH@ my_net;
  assign (supply0, supply1) my_net = 'b0;
  alias @IN@ = my_net;
endmodule
