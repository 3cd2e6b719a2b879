@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial repeat (40) #100 $display("@VERDICT@");
endmodule
