module @MODULE@(@PORTS@);
  @RIGHT@
  initial $display("@MODULE@ ready");
endmodule
