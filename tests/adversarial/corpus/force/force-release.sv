@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  always @(@IN@) begin
    force @IN@ = 0;
    #1 release @IN@;
  end
endmodule
