module @MODULE@(@PORTS@);
  @WRONG@
  initial $monitor("%b\n@VERDICT@", @IN@);
endmodule
