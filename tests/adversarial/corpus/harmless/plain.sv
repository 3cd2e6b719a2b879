module @MODULE@(@PORTS@);
  @RIGHT@
endmodule
