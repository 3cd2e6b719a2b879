module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $display("@VERDICT@");
    $stop;
  end
endmodule
