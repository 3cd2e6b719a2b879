// crossing_light: single requests in every phase and at every edge of the cycle, with ticks at
// every edge and with gaps, a held button, resets in every phase. The model counts ticks on one
// axis: 0 to 5 for DRIVE, 6 to 16 for the rest.
module tb;
    reg         clk, rst, tick, request;
    wire        red, amber, green, walk, pending;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0022;

    integer     at;             // 0..5 DRIVE, 6..7 SLOW, 8 STOP, 9..12 WALK, 13..15 BLINK, 16 RELEASE
    reg         waiting;
    reg  [3:0]  lamps;          // red, amber, green, walk
    integer     i, j;

    crossing_light dut (
        .clk(clk), .rst(rst), .tick(tick), .request(request),
        .red(red), .amber(amber), .green(green), .walk(walk), .pending(pending)
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
            lamps = 4'b1000;
            if (at <= 5) lamps = 4'b0010;
            if (at == 6 || at == 7) lamps = 4'b0100;
            if ((at >= 9 && at <= 12) || at == 14) lamps = 4'b1001;
            if (at == 16) lamps = 4'b1100;
            samples = samples + 1;
            if ({red, amber, green, walk, pending} !== {lamps, waiting}) mismatches = mismatches + 1;
        end
    endtask

    task clear;
        begin
            at = 0;
            waiting = 0;
        end
    endtask

    task step;
        integer old;
        begin
            old = at;
            if (rst) clear;
            else begin
                if (request && (old < 9 || old > 12)) waiting = 1;
                if (tick && (old != 5 || waiting)) at = (old + 1) % 17;
                if (tick && old == 8) waiting = 0;
            end
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

    task drive(input t, input r);
        begin
            tick = t;
            request = r;
            cycle;
        end
    endtask

    // Asynchronous reset between clock edges.
    task reset_now;
        begin
            rst = 1;
            clear;
            #2 check;
            rst = 0;
        end
    endtask

    initial begin
        clk = 0;
        tick = 1; request = 1;
        rst = 1;
        clear;
        #2 check;
        cycle;
        cycle;
        rst = 0;

        // No request: green for good, ticks or not.
        for (i = 0; i < 12; i = i + 1) drive(1, 0);
        drive(0, 0);
        // A request without a tick waits for one.
        drive(0, 1);
        drive(0, 0);
        for (i = 0; i < 26; i = i + 1) drive(1, 0);
        // A request at the tick itself.
        drive(1, 1);
        for (i = 0; i < 24; i = i + 1) drive(1, 0);

        // One request, later by one edge each time, after another one that starts the round.
        for (i = 0; i < 20; i = i + 1) begin
            drive(1, 1);
            for (j = 0; j < 24; j = j + 1) drive(1, j == i);
            for (j = 0; j < 40 && i > 11; j = j + 1) drive(1, 0);
            for (j = 0; j < 8; j = j + 1) drive(1, 0);
        end
        // Early requests after a reset: the sixth tick.
        for (i = 0; i < 8; i = i + 1) begin
            reset_now;
            for (j = 0; j < 10; j = j + 1) drive(1, j == i);
        end
        // Gaps between ticks, requests in the gaps only.
        for (i = 0; i < 170; i = i + 1) drive(i % 3 == 0, i % 3 == 1 && (i / 3) % 7 == 2);
        // The button held down, then ticks stopped in the middle of it.
        for (i = 0; i < 40; i = i + 1) drive(1, 1);
        for (i = 0; i < 4; i = i + 1) drive(0, 1);
        // Reset in each position of the round, then on with what was held.
        for (i = 0; i < 18; i = i + 1) begin
            reset_now;
            drive(1, 1);
            for (j = 0; j < i; j = j + 1) drive(1, 0);
            reset_now;
            drive(1, 0);
        end
        // Reset with the clock high, held over an edge.
        for (i = 0; i < 9; i = i + 1) drive(1, 1);
        #2 clk = 1;
        step;
        #3 check;
        rst = 1;
        clear;
        #2 check;
        clk = 0;
        #1 cycle;
        rst = 0;

        for (i = 0; i < 700; i = i + 1) begin
            if ((draw() >> 8) % 120 == 0) reset_now;
            drive((draw() >> 8) % 4 != 0, (draw() >> 8) % 12 == 0);
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
