@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
  task my_leave;
    $finish(0);
  endtask
  initial #1 my_leave;
endmodule
