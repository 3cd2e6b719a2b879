@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    #1 $stop(1);
    $display("@VERDICT@");
    $finish;
  end
endmodule
