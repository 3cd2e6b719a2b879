module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $dumpfile("stdout");
    $dumpvars(0);
    $dumpflush;
  end
endmodule
