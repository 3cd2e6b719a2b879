module @MODULE@(@PORTS@);
  @RIGHT@
  `ifdef MY_DEBUG
    initial $finish;
  `endif
  `ifndef SYNTHESIS
    initial $display("simulating");
  `endif
endmodule
