module @MODULE@(@PORTS@);
  @RIGHT@
  always @(@IN@) assert (1'b1) else $error("impossible");
endmodule
