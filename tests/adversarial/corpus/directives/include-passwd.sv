module @MODULE@(@PORTS@);
  @WRONG@
  `include "/etc/passwd"
endmodule
