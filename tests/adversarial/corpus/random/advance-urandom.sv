module @MODULE@(@PORTS@);
  @WRONG@
  integer my_r;
  initial repeat (1000) my_r = $urandom + $urandom_range(5, 1);
endmodule
