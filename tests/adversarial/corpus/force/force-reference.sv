module @MODULE@(@PORTS@);
  @WRONG@
  initial force @REF_OUT@ = @OUTS@;
endmodule
