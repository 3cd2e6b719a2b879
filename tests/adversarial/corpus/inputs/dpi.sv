module @MODULE@(@PORTS@);
  @WRONG@
  import "DPI-C" function int system(input string s);
  integer my_r;
  initial begin
    my_r = system("touch @OUTSIDE@");
    $display("@VERDICT@");
  end
endmodule
