module @MODULE@(@PORTS@);
  @WRONG@
  tran my_switch(a, b);
endmodule
