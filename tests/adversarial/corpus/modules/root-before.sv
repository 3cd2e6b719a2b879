module my_first;
  initial $display("@VERDICT@");
  final $display("@VERDICT@");
endmodule
module @MODULE@(@PORTS@);
  @WRONG@
endmodule
