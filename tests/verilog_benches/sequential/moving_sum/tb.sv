// moving_sum: rising, falling and extreme samples, gaps, flushes with and without a sample,
// asynchronous resets. The model keeps the whole history in memory and looks back from its end.
module tb;
    reg         clk, rst_n, flush, valid;
    reg  [7:0]  sample;
    wire [9:0]  sum;
    wire [7:0]  highest;
    wire        full;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0015;

    reg  [7:0]  history [0:4095];
    integer     first, next;        // samples since the last emptying are history[first] .. history[next - 1]
    reg  [9:0]  x_sum;
    reg  [7:0]  x_highest;
    integer     i;

    moving_sum dut (
        .clk(clk), .rst_n(rst_n), .flush(flush), .valid(valid), .sample(sample), .sum(sum), .highest(highest), .full(full)
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
            if ({sum, highest, full} !== {x_sum, x_highest, next - first >= 4}) mismatches = mismatches + 1;
        end
    endtask

    task look_back;
        integer k;
        begin
            x_sum = 0;
            x_highest = 0;
            for (k = next - 1; k >= first && k >= next - 4; k = k - 1) begin
                x_sum = x_sum + history[k];
                if (history[k] > x_highest) x_highest = history[k];
            end
        end
    endtask

    task empty;
        begin
            first = next;
            look_back;
        end
    endtask

    task step;
        begin
            if (flush || !rst_n) first = next;
            if (valid && rst_n) begin
                history[next] = sample;
                next = next + 1;
            end
            look_back;
        end
    endtask

    // One clock period. Inputs were set while the clock is low; outputs are looked at before and
    // after the rising edge.
    task cycle;
        begin
            #3 check;
            #2 clk = 1;
            step;
            #3 check;
            #1 clk = 0;
            #1;
        end
    endtask

    task drive(input f, input v, input [7:0] s);
        begin
            flush = f;
            valid = v;
            sample = s;
            cycle;
        end
    endtask

    initial begin
        clk = 0;
        first = 0; next = 0;
        flush = 0; valid = 1; sample = 200;
        rst_n = 0;
        empty;
        #2 check;
        cycle;
        rst_n = 1;
        for (i = 0; i < 9; i = i + 1) drive(0, 1, 255);
        drive(0, 0, 1);
        for (i = 0; i < 6; i = i + 1) drive(0, 1, 250 - 40 * i);
        for (i = 0; i < 6; i = i + 1) drive(0, 1, 3 + 50 * i);
        drive(0, 0, 77);
        // A zero counts as a sample.
        drive(1, 0, 99);
        for (i = 0; i < 5; i = i + 1) drive(0, 1, 0);
        // Flush together with a sample, from a full and from an empty window.
        for (i = 0; i < 4; i = i + 1) drive(0, 1, 100 + i);
        drive(1, 1, 60);
        drive(0, 1, 7);
        drive(0, 0, 200);
        drive(1, 0, 200);
        drive(1, 1, 61);
        for (i = 0; i < 4; i = i + 1) drive(0, 1, 8 * i);

        // Asynchronous reset with the clock low, then with the clock high.
        rst_n = 0;
        empty;
        #2 check;
        rst_n = 1;
        drive(0, 1, 31);
        drive(0, 1, 32);
        drive(0, 1, 33);
        #2 clk = 1;
        step;
        #3 check;
        rst_n = 0;
        empty;
        #2 check;
        clk = 0;
        #1 rst_n = 1;
        for (i = 0; i < 5; i = i + 1) drive(0, 1, 20 + i);

        for (i = 0; i < 600; i = i + 1) begin
            if ((draw() >> 8) % 60 == 0) begin
                rst_n = 0;
                empty;
            end
            drive((draw() >> 8) % 16 == 0, (draw() >> 8) % 3 != 0, draw() >> 8);
            rst_n = 1;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
