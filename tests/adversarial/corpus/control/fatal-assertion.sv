module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $display("@VERDICT@");
    assert (0) else $fatal(0, "done");
  end
endmodule
