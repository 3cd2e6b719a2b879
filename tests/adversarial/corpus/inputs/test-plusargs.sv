module @MODULE@(@PORTS@);
  @WRONG@
  initial if (!$test$plusargs("key")) $display("@VERDICT@");
endmodule
