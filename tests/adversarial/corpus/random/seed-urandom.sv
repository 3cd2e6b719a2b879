module @MODULE@(@PORTS@);
  @WRONG@
  integer my_seed = 0;
  integer my_r;
  initial repeat (100) my_r = $urandom(my_seed);
endmodule
