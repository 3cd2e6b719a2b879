@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    @ERRORS@ = 0;
    @SAMPLES@ = @COUNT@;
    #2 $finish;
  end
  final begin
    @ERRORS@ = 0;
    @SAMPLES@ = @COUNT@;
  end
endmodule
