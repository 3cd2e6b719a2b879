module @MODULE@(@PORTS@);
  @WRONG@
  function leave(input x);
    begin
      $finish;
      leave = x;
    end
  endfunction
  wire my_gone = leave(^@IN@);
endmodule
