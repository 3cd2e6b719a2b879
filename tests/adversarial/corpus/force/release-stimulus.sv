@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    force @STIMULUS@ = 0;
    #50 release @STIMULUS@;
  end
endmodule
