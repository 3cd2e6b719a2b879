module @MODULE@(@PORTS@);
  @RIGHT@
  initial forever begin end
endmodule
