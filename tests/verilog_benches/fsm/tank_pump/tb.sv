// tank_pump: fills of every length up to the limit, contradictions in every situation,
// acknowledgements with and without a standing contradiction, resets. The model numbers the edges
// and remembers when the pump went on.
module tb;
    reg         clk, rst_n, low_mark, high_mark, acknowledge;
    wire        pump, alarm;
    wire [1:0]  cause;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0021;

    integer     edge_number, on_since, reason;      // on_since is 0 while the pump stands
    integer     i, j, water;

    tank_pump dut (
        .clk(clk), .rst_n(rst_n), .low_mark(low_mark), .high_mark(high_mark), .acknowledge(acknowledge),
        .pump(pump), .alarm(alarm), .cause(cause)
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
            if ({pump, alarm, cause} !== {on_since != 0, reason != 0, reason[1:0]}) mismatches = mismatches + 1;
        end
    endtask

    task stop(input integer why);
        begin
            on_since = 0;
            reason = why;
        end
    endtask

    task step;
        reg odd;
        begin
            edge_number = edge_number + 1;
            odd = high_mark & ~low_mark;
            if (!rst_n) stop(0);
            else if (reason != 0) begin
                if (acknowledge && !odd) reason = 0;
            end else if (odd) stop(1);
            else if (on_since != 0 && high_mark) stop(0);
            else if (on_since != 0 && edge_number - on_since >= 20) stop(2);
            else if (on_since == 0 && !low_mark) on_since = edge_number;
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

    task drive(input lo, input hi, input ack);
        begin
            low_mark = lo;
            high_mark = hi;
            acknowledge = ack;
            cycle;
        end
    endtask

    initial begin
        clk = 0;
        edge_number = 0; on_since = 0; reason = 0;
        low_mark = 0; high_mark = 0; acknowledge = 0;
        rst_n = 0;
        #2 clk = 1;
        step;
        #3 check;
        #1 clk = 0;
        #1 cycle;
        // In reset a contradiction raises no alarm.
        drive(0, 1, 0);
        drive(1, 1, 0);
        rst_n = 1;
        drive(1, 1, 0);
        drive(1, 0, 0);
        drive(1, 0, 1);

        // Fills that reach the high mark at the 1st to the 22nd edge; the longest ones meet the
        // time limit.
        for (i = 1; i <= 22; i = i + 1) begin
            drive(0, 0, 0);
            for (j = 1; j < i; j = j + 1) drive(j > i / 2, 0, 1);
            drive(1, 1, 0);
            drive(1, 1, 0);
            drive(1, 0, i % 2);
            drive(1, 0, 1);
        end
        // The time limit with the tank empty all the while, acknowledged late, then straight away.
        for (i = 0; i < 25; i = i + 1) drive(0, 0, 0);
        drive(0, 1, 1);
        drive(0, 1, 0);
        drive(0, 0, 1);
        for (i = 0; i < 45; i = i + 1) drive(0, 0, 1);
        for (i = 0; i < 3; i = i + 1) drive(1, 1, 1);

        // Contradictions: standing, running, at the edge of the time limit, with acknowledge.
        drive(1, 0, 0);
        drive(0, 1, 0);
        drive(0, 1, 1);
        drive(1, 1, 0);
        drive(1, 1, 1);
        drive(0, 0, 0);
        drive(0, 0, 0);
        drive(0, 1, 1);
        drive(0, 0, 0);
        drive(0, 0, 1);
        drive(0, 0, 0);
        for (i = 1; i < 20; i = i + 1) drive(0, 0, 0);
        drive(0, 1, 0);
        drive(1, 0, 1);
        drive(1, 0, 0);

        // Reset: not without an edge; while running (the limit counts anew); in an alarm, with
        // acknowledge or without.
        drive(0, 0, 0);
        rst_n = 0;
        #2 check;
        rst_n = 1;
        for (i = 0; i < 15; i = i + 1) drive(0, 0, 0);
        rst_n = 0;
        drive(0, 0, 0);
        rst_n = 1;
        for (i = 0; i < 23; i = i + 1) drive(1 - (i < 1), 0, 0);
        rst_n = 0;
        drive(0, 1, 0);
        rst_n = 1;
        drive(1, 0, 0);
        drive(0, 1, 0);
        rst_n = 0;
        drive(1, 1, 0);
        rst_n = 1;
        drive(1, 1, 0);

        // A tank whose water rises and falls, with rare sensor faults.
        water = 20;
        for (i = 0; i < 600; i = i + 1) begin
            water = water + ((on_since != 0) ? (draw() >> 8) % 5 : -((draw() >> 8) % 3));
            if (water < 0) water = 0;
            low_mark = water >= 10;
            high_mark = water >= 40;
            if ((draw() >> 8) % 40 == 0) low_mark = ~low_mark;
            if ((draw() >> 8) % 40 == 0) high_mark = ~high_mark;
            acknowledge = (draw() >> 8) % 6 == 0;
            rst_n = (draw() >> 8) % 70 != 0;
            cycle;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
