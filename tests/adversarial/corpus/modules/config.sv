module @MODULE@(@PORTS@);
  @WRONG@
endmodule
config my_config;
  design work.@MODULE@;
endconfig
