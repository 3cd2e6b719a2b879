module @MODULE@(@PORTS@);
  @WRONG@
endmodule
`resetall
`unconnected_drive pull1
