module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    @IN@ = 0;
    assign @IN@ = 0;
  end
endmodule
