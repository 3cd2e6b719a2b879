module @MODULE@(@PORTS@);
  @WRONG@
endmodule
module @TB@;
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endmodule
