module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $dumpfile("@OUTSIDE@");
    $dumpvars;
  end
endmodule
