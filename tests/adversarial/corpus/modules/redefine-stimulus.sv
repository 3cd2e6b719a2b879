module @MODULE@(@PORTS@);
  @WRONG@
endmodule
@STIM_HEADER@
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endmodule
