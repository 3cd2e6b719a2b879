module @MODULE@(@PORTS@);
  @WRONG@
  initial $strobe("@VERDICT@");
endmodule
