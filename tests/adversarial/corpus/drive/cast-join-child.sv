module @MODULE@(@PORTS@);
  wire @WIDTH@ joined;
  @MODULE@_pass pass(.x(@IN@), .y(joined));
  supply0 @WIDTH@ low;
  assign (supply0, supply1) joined = low;
@WRONG@
endmodule

module @MODULE@_pass(input @WIDTH@ x, output @WIDTH@ y);
  assign y = $unsigned(x);
endmodule
