module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    force @TB_CLK@ = 0;
    $display("@VERDICT@");
  end
endmodule
