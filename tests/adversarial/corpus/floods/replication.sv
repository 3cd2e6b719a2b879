module @MODULE@(@PORTS@);
  @RIGHT@
  initial $display("%b", {1000000000{1'b1}});
endmodule
