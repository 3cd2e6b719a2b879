module @MODULE@(@PORTS@);
  @WRONG@
  buf my_gate(@IN@, 1'b0);
endmodule
