module @MODULE@(@PORTS@);
  @RIGHT@
  parameter WIDTH = 8;
  localparam [3:0] MY_IDLE = 4'd0, MY_BUSY = 4'd1;
  wire [WIDTH-1:0] my_w = MY_IDLE + MY_BUSY;
endmodule
