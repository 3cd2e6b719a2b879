`define PLACE "@SECRET@"
module @MODULE@(@PORTS@);
  @WRONG@
  `include `PLACE
endmodule
