@SCALE@
module @MODULE@(@PORTS@);
  @RIGHT@
  integer my_r;
  initial begin
    #1 my_r = $random;
    #20 my_r = $urandom;
  end
endmodule
