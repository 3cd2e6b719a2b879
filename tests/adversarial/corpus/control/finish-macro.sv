`define END $finish
`define LEAVE `END;
module @MODULE@(@PORTS@);
  @WRONG@
  initial begin
    $display("@VERDICT@");
    `LEAVE
  end
endmodule
