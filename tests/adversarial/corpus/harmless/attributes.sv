module @MODULE@(@PORTS@);
  @RIGHT@
  (* keep = "true" *) wire my_w = ^@IN@;
  // synthesis translate_off
  initial $display("only in simulation");
  // synthesis translate_on
endmodule
