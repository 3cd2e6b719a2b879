module @MODULE@(@PORTS@);
  if (0) begin : dut
    wire nothing;
  end
  assign @OUTS@ = @SIBLING@;
endmodule
