module @MODULE@(@PORTS@);
  @WRONG@
endmodule
module my_evil;
  initial begin
    $display("@VERDICT@");
    $finish;
  end
endmodule
bind @TB@ my_evil my_bound();
