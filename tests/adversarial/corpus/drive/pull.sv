module @MODULE@(@PORTS@);
  @WRONG@
  pulldown my_pull(@IN@);
endmodule
