module @MODULE@(@PORTS@);
/* `timescale */
@MODULE@_kid dut();
// */
  assign @OUTS@ = @SIBLING@;
endmodule

module @MODULE@_kid;
endmodule
