@SCALE@
module @MODULE@(@PORTS@);
  @RIGHT@
  task automatic my_grow;
    fork
      begin #1 my_grow; end
      begin #1 my_grow; end
    join
  endtask
  initial my_grow;
endmodule
