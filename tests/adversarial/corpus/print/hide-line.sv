@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  initial repeat (20000) begin
    $display("@VERDICT@");
    $write("x");
    #1;
  end
endmodule
