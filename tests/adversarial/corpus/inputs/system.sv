module @MODULE@(@PORTS@);
  @WRONG@
  integer my_status;
  initial begin
    $system("echo @VERDICT@");
    my_status = $system("touch @OUTSIDE@");
  end
endmodule
