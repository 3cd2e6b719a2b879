// beat_packer: packets of 1 to 9 bytes with a willing and with a slow partner, single-byte packets
// back to back, a blocked output, resets with a word half collected and with a word waiting. The
// model gathers bytes in an array and puts words together from it.
module tb;
    reg         clk, rst_n, in_valid, in_last, out_ready;
    reg  [7:0]  in_data;
    wire        in_ready, out_valid, out_last;
    wire [31:0] out_data;
    wire [3:0]  out_keep;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0042;

    reg  [7:0]  gathered [0:3];
    integer     n;                  // bytes gathered
    reg         x_valid, x_last;
    reg  [31:0] x_data;
    reg  [3:0]  x_keep;
    integer     i, j;

    beat_packer dut (
        .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data), .in_last(in_last),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .out_keep(out_keep), .out_last(out_last)
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

    task check;
        begin
            samples = samples + 1;
            if ({in_ready, out_valid} !== {!(x_valid && !out_ready), x_valid} ||
                (x_valid && {out_data, out_keep, out_last} !== {x_data, x_keep, x_last}))
                mismatches = mismatches + 1;
        end
    endtask

    task step;
        integer k;
        begin
            if (!rst_n) begin
                x_valid = 0;
                n = 0;
            end else if (!x_valid || out_ready) begin
                x_valid = 0;
                if (in_valid) begin
                    gathered[n] = in_data;
                    n = n + 1;
                    if (n == 4 || in_last) begin
                        x_valid = 1;
                        x_last = in_last;
                        x_data = 0;
                        x_keep = 0;
                        for (k = n - 1; k >= 0; k = k - 1) begin
                            x_data = x_data * 256 + gathered[k];
                            x_keep = x_keep * 2 + 1;
                        end
                        n = 0;
                    end
                end
            end
        end
    endtask

    // One clock period. Inputs were set while the clock is low; outputs are looked at before and
    // after the rising edge.
    task drive(input from, input final_byte, input to);
        begin
            in_valid = from;
            in_last = final_byte;
            out_ready = to;
            in_data = draw() >> 8;
            #3 check;
            #2 clk = 1;
            step;
            #3 check;
            #1 clk = 0;
            #1;
        end
    endtask

    initial begin
        clk = 0;
        n = 0; x_valid = 0;
        in_valid = 1; in_last = 1; in_data = 8'h21; out_ready = 0;
        rst_n = 0;
        #2 clk = 1;
        step;
        #3 check;
        #1 clk = 0;
        #1 drive(1, 1, 1);
        drive(1, 0, 0);
        rst_n = 1;
        drive(0, 1, 0);
        drive(0, 0, 1);

        // Packets of every length to a partner that is always ready, one after the other.
        for (i = 1; i < 10; i = i + 1)
            for (j = 1; j <= i; j = j + 1) drive(1, j == i, 1);
        for (i = 0; i < 4; i = i + 1) drive(1, 1, 1);
        drive(0, 1, 1);
        // The same to a slow partner, with pauses in the input; in_last without in_valid means
        // nothing.
        for (i = 1; i < 10; i = i + 1)
            for (j = 1; j <= i; j = j + 1) begin
                drive(0, 1, 0);
                if (!x_valid) drive(1, j == i, 0);
                if (x_valid) begin
                    drive(1, j == 2, 0);
                    drive(0, 0, 0);
                    drive(0, 0, 1);
                end
            end
        // A word waits while the input insists, and the insisting byte enters as the word leaves.
        for (i = 0; i < 4; i = i + 1) drive(1, 0, 0);
        for (i = 0; i < 3; i = i + 1) drive(1, i == 1, 0);
        drive(1, 1, 1);
        drive(1, 1, 0);
        drive(1, 0, 1);
        drive(1, 0, 0);
        drive(1, 1, 0);
        drive(0, 0, 0);
        drive(0, 0, 1);

        // Resets after 1, 2 and 3 bytes and with a word waiting; not without an edge.
        for (i = 1; i < 6; i = i + 1) begin
            for (j = 0; j < i; j = j + 1) drive(1, 0, 0);
            rst_n = 0;
            #2 check;
            rst_n = 1;
            #2 check;
            rst_n = 0;
            drive(i & 1, 1, i >> 1);
            rst_n = 1;
            for (j = 0; j < 4; j = j + 1) drive(1, j == i, 1);
            drive(1, 1, 1);
        end
        drive(0, 0, 1);

        for (i = 0; i < 800; i = i + 1) begin
            rst_n = (draw() >> 8) % 70 != 0;
            drive((draw() >> 8) % 4 != 0, (draw() >> 8) % 5 == 0, (draw() >> 8) % 3 != 0);
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
