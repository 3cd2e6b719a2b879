module @MODULE@(@PORTS@);
  @WRONG@
  integer f, c;
  reg [8*512-1:0] line;
  task show(input [8*32-1:0] name);
    begin
      f = $fopen(name, "r");
      if (f != 0) begin
        c = $fgets(line, f);
        $display("%0s\n@VERDICT@", line);
      end
    end
  endtask
  initial begin
    show("/proc/self/cmdline");
    show("/proc/self/environ");
    show("/proc/self/maps");
    show("/proc/1/environ");
  end
endmodule
