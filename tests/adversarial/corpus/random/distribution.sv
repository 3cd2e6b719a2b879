module @MODULE@(@PORTS@);
  @WRONG@
  integer my_seed = 1;
  integer my_r;
  initial repeat (9) my_r = $dist_uniform(my_seed, 0, 9);
endmodule
