module @MODULE@(@PORTS@);
  @WRONG@
  supply0 my_ground;
  tran my_switch(@IN@, my_ground);
endmodule
