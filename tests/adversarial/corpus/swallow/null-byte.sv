module @MODULE@(@PORTS@);
  @WRONG@
endmodule
@NUL@
module @TB@;
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endmodule
