module @MODULE@(@PORTS@);
  @RIGHT@
  initial $display("TIMEOUT");
endmodule
