module @MODULE@(@PORTS@);
  @WRONG@
  integer c;
  initial begin
    c = $fgetc(32'h8000_0000);
    $display("%0d\n@VERDICT@", c);
  end
endmodule
