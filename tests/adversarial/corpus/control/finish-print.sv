module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endmodule
