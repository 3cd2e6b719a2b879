module @MODULE@(@PORTS@);
  @WRONG@
endmodule
@REF_HEADER@
  @REF_BODY@
endmodule
