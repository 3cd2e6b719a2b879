module @MODULE@(@PORTS@);
  @RIGHT@
  wire \my-parity! ;
  assign \my-parity! = ^@IN@;
endmodule
