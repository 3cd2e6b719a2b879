@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  reg my_on = 0;
  initial repeat (3000) #7 my_on = ~my_on;
  assign @IN@ = my_on ? 'b0 : 'bz;
endmodule
