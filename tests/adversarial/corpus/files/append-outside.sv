module @MODULE@(@PORTS@);
  @WRONG@
  integer f;
  initial begin
    f = $fopen("@SECRET@", "a");
    $fwrite(f, "appended");
  end
endmodule
