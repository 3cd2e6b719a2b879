module @MODULE@(@PORTS@);
  @RIGHT@
  always @(@IN@) $display("t=%0t in=%h", $time, @IN@);
endmodule
