module @MODULE@(@PORTS@);

  assign @OUTS@ = @EXPECTED:\tb .@;
endmodule
