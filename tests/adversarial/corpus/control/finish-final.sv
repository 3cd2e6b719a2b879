@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial #3 $finish;
  final $display("@VERDICT@");
endmodule
