module @MODULE@(@PORTS@);
  @RIGHT@
  initial forever $error("0123456789012345678901234567890123456789");
endmodule
