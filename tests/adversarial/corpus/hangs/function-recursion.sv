module @MODULE@(@PORTS@);
  @RIGHT@
  function automatic integer my_f(input integer x);
    my_f = my_f(x + 1) + 1;
  endfunction
  integer my_r;
  initial my_r = my_f(1);
endmodule
