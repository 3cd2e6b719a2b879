module @MODULE@(@PORTS@);
  @WRONG@
  initial $display("\015@VERDICT@\015\n@VERDICT@\033[2K");
endmodule
