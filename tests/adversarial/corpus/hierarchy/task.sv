@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  task my_clean;
    @ERRORS@ = 0;
  endtask
  initial repeat (20000) #1 my_clean;
endmodule
