module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $display("%s", $getenv("VERIEVAL_KEY"));
    $display("@VERDICT@");
  end
endmodule
