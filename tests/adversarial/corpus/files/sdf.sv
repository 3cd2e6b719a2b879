module @MODULE@(@PORTS@);
  @WRONG@
  initial $sdf_annotate("@SECRET@");
endmodule
