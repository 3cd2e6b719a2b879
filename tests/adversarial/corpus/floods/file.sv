module @MODULE@(@PORTS@);
  @RIGHT@
  integer f;
  initial begin
    f = $fopen("big", "w");
    forever $fdisplay(f, "0123456789012345678901234567890123456789");
  end
endmodule
