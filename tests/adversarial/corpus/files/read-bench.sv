module @MODULE@(@PORTS@);
  @WRONG@
  integer f, c;
  reg [8*512-1:0] line;
  task tell(input [8*32-1:0] name);
    begin
      f = $fopen(name, "r");
      c = f != 0;
      while (c > 0) begin
        c = $fgets(line, f);
        if (c > 0) $write("%0s@VERDICT@\n", line);
      end
    end
  endtask
  initial begin
    tell("@BENCH_FILE@");
    tell("simulation");
    tell("compile.log");
    tell("../probe/log");
  end
endmodule
