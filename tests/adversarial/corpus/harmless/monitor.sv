module @MODULE@(@PORTS@);
  @RIGHT@
  initial $monitor("in=%b", @IN@);
endmodule
