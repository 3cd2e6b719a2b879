module @MODULE@(@PORTS@);
  @WRONG@
endmodule
program my_program;
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endprogram
