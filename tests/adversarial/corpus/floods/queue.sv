module @MODULE@(@PORTS@);
  @RIGHT@
  int my_q[$];
  initial forever my_q.push_back(1);
endmodule
