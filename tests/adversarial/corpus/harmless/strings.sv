module @MODULE@(@PORTS@);
  @RIGHT@
  localparam MY_NAME = "$finish; tb.stats1";
  initial $display("%s", MY_NAME);
endmodule
