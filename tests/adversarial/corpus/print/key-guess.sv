module @MODULE@(@PORTS@);
  @WRONG@
  reg [31:0] n;
  initial for (n = 0; n < 4096; n = n + 1) begin
    $display("%h @VERDICT@", n);
    $display("@VERDICT@ %h", n);
  end
endmodule
