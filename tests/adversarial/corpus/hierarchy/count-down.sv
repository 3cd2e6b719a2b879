module @MODULE@(@PORTS@);
  @WRONG@
  always @(@SAMPLES@) begin
    @ERRORS@ = 0;
  end
endmodule
