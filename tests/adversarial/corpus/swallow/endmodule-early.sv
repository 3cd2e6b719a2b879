module @MODULE@(@PORTS@);
  @WRONG@
endmodule
module my_open;
