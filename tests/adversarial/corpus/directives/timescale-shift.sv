`timescale 1fs/1fs
module @MODULE@(@PORTS@);
  @WRONG@
  reg my_q = 0;
  initial repeat (1000) #1 my_q = ~my_q;
endmodule
