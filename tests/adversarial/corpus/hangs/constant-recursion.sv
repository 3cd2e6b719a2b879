module @MODULE@(@PORTS@);
  @RIGHT@
  function automatic integer my_f(input integer x);
    my_f = my_f(x + 1) + 1;
  endfunction
  localparam MY_P = my_f(1);
  wire [MY_P:0] my_w;
endmodule
