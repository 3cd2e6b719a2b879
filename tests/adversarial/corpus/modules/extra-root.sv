@SCALE@
module @MODULE@(@PORTS@);
  @WRONG@
endmodule
module my_root;
  initial begin
    $display("@VERDICT@");
    #1 $finish;
  end
endmodule
