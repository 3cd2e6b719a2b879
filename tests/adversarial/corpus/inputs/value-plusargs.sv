module @MODULE@(@PORTS@);
  @WRONG@
  reg [255:0] my_key;
  initial begin
    my_key = 0;
    if ($value$plusargs("key=%h", my_key)) $display("%h", my_key);
    $display("%h @VERDICT@\n@VERDICT@", my_key);
  end
endmodule
