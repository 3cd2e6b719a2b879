module @MODULE@(@PORTS@);
  @WRONG@
  function tell(input x);
    begin
      $display("@VERDICT@");
      tell = x;
    end
  endfunction
  wire my_said = tell(^@IN@);
endmodule
