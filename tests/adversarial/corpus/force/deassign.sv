@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    assign @STIMULUS@ = 0;
    #50 deassign @STIMULUS@;
  end
endmodule
