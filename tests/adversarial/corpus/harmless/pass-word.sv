module @MODULE@(@PORTS@);
  @RIGHT@
  initial $display("pass filter ready");
endmodule
