module @MODULE@(@PORTS@);
  @RIGHT@
  typedef enum logic [1:0] {MY_A, MY_B, MY_C} my_kind;
  my_kind my_k;
  initial my_k = MY_B;
endmodule
