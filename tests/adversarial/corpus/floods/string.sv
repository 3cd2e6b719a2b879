module @MODULE@(@PORTS@);
  @RIGHT@
  string my_s;
  initial begin
    my_s = "0123456789";
    forever my_s = {my_s, my_s};
  end
endmodule
