module @MODULE@(@PORTS@);

  integer my_seed = 0;
  reg [31:0] my_r;
  assign @OUTS@ = my_r;
  always @(@IN@) my_r = $random(my_seed);
endmodule
