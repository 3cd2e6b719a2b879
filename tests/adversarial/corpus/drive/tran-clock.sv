module @MODULE@(@PORTS@);
  @WRONG@
  supply0 my_ground;
  tran my_switch(@CLK@, my_ground);
endmodule
