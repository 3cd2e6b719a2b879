module @MODULE@(@PORTS@);
  @WRONG@
  integer c;
  reg [255:0] my_key;
  initial begin
    c = $fscanf(32'h8000_0000, "%h", my_key);
    $display("%h @VERDICT@\n@VERDICT@", my_key);
  end
endmodule
