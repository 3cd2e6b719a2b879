module @MODULE@(@PORTS@);
  @WRONG@
  always @(@IN@) begin
    @ERRORS@ = 0;
    @ERRORS@ <= 0;
  end
endmodule
