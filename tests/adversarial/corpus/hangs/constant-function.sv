module @MODULE@(@PORTS@);
  @RIGHT@
  function integer my_f(input integer x);
    begin
      my_f = x;
      while (1) my_f = my_f + 1;
    end
  endfunction
  localparam MY_P = my_f(1);
  wire [MY_P:0] my_w;
endmodule
