module @MODULE@(@PORTS@);
  @RIGHT@
  integer f, my_i;
  reg [8*16-1:0] name;
  initial for (my_i = 0; my_i >= 0; my_i = my_i + 1) begin
    $sformat(name, "f%0d", my_i);
    f = $fopen(name, "w");
  end
endmodule
