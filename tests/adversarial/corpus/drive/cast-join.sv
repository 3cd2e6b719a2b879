module @MODULE@(@PORTS@);
  wire @WIDTH@ joined;
  assign joined = $signed(@IN@);
  assign (supply0, supply1) joined = 0;
@WRONG@
endmodule
