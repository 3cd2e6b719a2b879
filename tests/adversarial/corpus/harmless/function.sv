module @MODULE@(@PORTS@);
  @RIGHT@
  function my_parity(input [7:0] x);
    my_parity = ^x;
  endfunction
  wire my_p = my_parity(@IN@);
endmodule
