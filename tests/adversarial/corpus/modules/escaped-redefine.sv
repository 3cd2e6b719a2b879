module \@REF@ (input a, input b, output out);
  assign out = 1'b0;
endmodule
module @MODULE@(@PORTS@);
  @WRONG@
endmodule
