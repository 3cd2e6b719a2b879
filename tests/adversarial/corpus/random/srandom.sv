module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    process p;
    p = process::self();
    p.srandom(0);
    $srandom(1);
  end
endmodule
