module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`ifndef NEVER
module @TB@;
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endmodule
`else
