module @MODULE@(@PORTS@);
  @WRONG@
  always @(@IN@) assert (0) else $display("@VERDICT@");
endmodule
