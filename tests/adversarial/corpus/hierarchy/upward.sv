module @MODULE@(@PORTS@);

  assign @OUTS@ = @EXPECTED:@;
endmodule
