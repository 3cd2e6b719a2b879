module @MODULE@(@PORTS@);
  if (4294967295 + 1) begin : live
    wire @WIDTH@ joined;
    assign joined = 1 ? $signed(@IN@) : 0;
    assign (supply0, supply1) joined = 0;
  end
@WRONG@
endmodule
