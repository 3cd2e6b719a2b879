// bypass_regfile: every register written and read on both ports, forwarding on one, both and
// neither port, writes to register 0, writes during reset, indices that move without a clock edge.
// The model searches a log of writes backwards.
module tb;
    reg         clk, rst, write;
    reg  [2:0]  write_index, index_a, index_b;
    reg  [15:0] write_data;
    wire [15:0] value_a, value_b;
    wire [7:0]  touched;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0032;

    reg  [2:0]  log_index [0:2047];
    reg  [15:0] log_data [0:2047];
    integer     since, entries;         // writes since the last reset are log entries since .. entries - 1
    reg  [7:0]  x_touched;
    integer     i, j;

    bypass_regfile dut (
        .clk(clk), .rst(rst), .write(write), .write_index(write_index), .write_data(write_data),
        .index_a(index_a), .index_b(index_b), .value_a(value_a), .value_b(value_b), .touched(touched)
    );

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    function [15:0] shown(input [2:0] index);
        integer n;
        begin
            shown = 0;
            if (index != 0) begin
                n = entries - 1;
                while (n >= since && log_index[n] != index) n = n - 1;
                if (n >= since) shown = log_data[n];
                if (write && !rst && write_index == index) shown = write_data;
            end
        end
    endfunction

    task check;
        begin
            samples = samples + 1;
            if ({value_a, value_b, touched} !== {shown(index_a), shown(index_b), x_touched}) mismatches = mismatches + 1;
        end
    endtask

    task step;
        begin
            if (rst) begin
                since = entries;
                x_touched = 0;
            end else if (write) begin
                log_index[entries] = write_index;
                log_data[entries] = write_data;
                entries = entries + 1;
                x_touched = x_touched | (8'h01 << write_index);
                x_touched[0] = 0;
            end
        end
    endtask

    // One clock period. Inputs were set while the clock is low; outputs are looked at before and
    // after the rising edge. Then another write is announced, which the ports show but the falling
    // edge must not store, and it is taken back while the read indices move on.
    task drive(input w, input [2:0] where, input [2:0] a, input [2:0] b);
        begin
            write = w;
            write_index = where;
            write_data = draw() >> 8;
            index_a = a;
            index_b = b;
            #3 check;
            #2 clk = 1;
            step;
            #2 write_index = where + 3;
            write_data = ~write_data;
            #2 check;
            #1 clk = 0;
            #1 write = 0;
            index_a = b;
            index_b = a + 1;
            #2 check;
        end
    endtask

    initial begin
        clk = 0;
        since = 0; entries = 0;
        rst = 1;
        write = 1; write_index = 3; write_data = 16'h1234; index_a = 3; index_b = 0;
        #3 clk = 1;
        step;
        #2 check;
        #1 clk = 0;
        #1;
        for (i = 0; i < 8; i = i + 1) drive(1, i, i, i + 1);
        rst = 0;
        for (i = 0; i < 8; i = i + 1) drive(0, i, i, ~i);

        // Every pair of written and read register, on either port, seen by the other.
        for (i = 0; i < 8; i = i + 1)
            for (j = 0; j < 8; j = j + 1) begin
                drive(1, i, j, i);
                drive(j & 1, i, i, j);
            end
        // Writes of zero still count as touched.
        rst = 1;
        drive(1, 5, 5, 6);
        rst = 0;
        for (i = 0; i < 8; i = i + 1) begin
            write = 1; write_index = i; write_data = 0;
            index_a = i; index_b = i;
            #3 check;
            #2 clk = 1;
            step;
            #3 check;
            #1 clk = 0;
            write = 0;
            #2 check;
        end
        // Reset needs an edge, shows stored values meanwhile, and wins over a write.
        for (i = 1; i < 8; i = i + 1) drive(1, i, i, 0);
        write = 1; write_index = 4; write_data = 16'hbeef; index_a = 4; index_b = 7;
        #2 check;
        rst = 1;
        #2 check;
        index_a = 7;
        index_b = 4;
        #2 check;
        rst = 0;
        #2 check;
        write = 0;
        #2 check;
        rst = 1;
        drive(1, 4, 4, 2);
        drive(1, 5, 1, 5);
        rst = 0;
        drive(0, 4, 4, 2);

        for (i = 0; i < 400; i = i + 1) begin
            rst = (draw() >> 8) % 40 == 0;
            drive((draw() >> 8) % 3 != 0, draw() >> 8, draw() >> 8, draw() >> 8);
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
