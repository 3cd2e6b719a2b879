module @MODULE@(@PORTS@);
  @WRONG@
  integer my_r;
  always @(@IN@) repeat (7) my_r = $random;
endmodule
