module @MODULE@(@PORTS@);
  @RIGHT@
  reg [65535:0] my_v = 0;
  initial begin
    $dumpfile("dump.vcd");
    $dumpvars;
    forever begin
      my_v = ~my_v;
      $dumpall;
    end
  end
endmodule
