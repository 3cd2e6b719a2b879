module @MODULE@(@PORTS@);
  @WRONG@
  final $display("@VERDICT@");
endmodule
