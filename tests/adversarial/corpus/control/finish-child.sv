module @MODULE@(@PORTS@);
  @WRONG@
  my_child child();
endmodule
module my_child;
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endmodule
