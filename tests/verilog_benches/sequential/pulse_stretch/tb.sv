// pulse_stretch: every length, triggers at every distance in both modes, length 0, held triggers,
// resets. The model keeps the cycle number at which the pulse ends.
module tb;
    reg         clk, rst, trigger, retrigger;
    reg  [3:0]  length;
    wire        pulse, missed;
    wire [3:0]  left;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0011;

    integer     now, until_cycle;
    reg         x_missed;
    integer     i, j;

    pulse_stretch dut (
        .clk(clk), .rst(rst), .trigger(trigger), .retrigger(retrigger), .length(length),
        .pulse(pulse), .left(left), .missed(missed)
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
        integer rest;
        begin
            rest = (until_cycle > now) ? until_cycle - now : 0;
            samples = samples + 1;
            if ({pulse, left, missed} !== {until_cycle > now, rest[3:0], x_missed}) mismatches = mismatches + 1;
        end
    endtask

    task step;
        begin
            x_missed = trigger && !rst && !retrigger && until_cycle > now;
            if (rst) until_cycle = 0;
            else if (trigger && !x_missed) until_cycle = now + 1 + length;
            now = now + 1;
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

    task drive(input t, input r, input [3:0] n);
        begin
            trigger = t;
            retrigger = r;
            length = n;
            cycle;
        end
    endtask

    initial begin
        clk = 0;
        now = 0; until_cycle = 0; x_missed = 0;
        trigger = 1; retrigger = 1; length = 9;
        rst = 1;
        #2 clk = 1;
        step;
        #3 check;
        #1 clk = 0;
        #1 cycle;
        rst = 0;
        drive(0, 1, 9);
        drive(0, 0, 9);

        // Every length on its own; length and mode vary while no trigger comes.
        for (i = 0; i < 16; i = i + 1) begin
            drive(1, i, i);
            for (j = 0; j < i + 1; j = j + 1) drive(0, j, ~i);
        end
        // A second trigger at every distance, in both modes, longer, shorter and 0.
        for (i = 1; i < 8; i = i + 1) begin
            for (j = 0; j < 8; j = j + 1) drive(j == 0 || j == i, 0, (j == 0) ? 5 : 3);
            for (j = 0; j < 4; j = j + 1) drive(0, 1, 12);
            for (j = 0; j < 16; j = j + 1) drive(j == 0 || j == i, 1, (j == 0) ? 6 : (i % 3 == 0) ? 9 : 2);
            for (j = 0; j < 8; j = j + 1) drive(j == 0 || j == i, j != 0, (j == 0) ? 6 : 0);
        end
        // Held triggers.
        for (i = 0; i < 14; i = i + 1) drive(1, 0, 3);
        for (i = 0; i < 6; i = i + 1) drive(1, 1, 3);
        for (i = 0; i < 6; i = i + 1) drive(1, 0, 0);
        // Reset in a pulse: only at an edge, and before a trigger.
        drive(1, 1, 15);
        drive(0, 0, 0);
        rst = 1;
        #2 check;
        rst = 0;
        drive(1, 0, 2);
        rst = 1;
        drive(1, 1, 7);
        drive(1, 0, 7);
        rst = 0;
        drive(0, 0, 7);
        drive(1, 0, 7);
        rst = 1;
        drive(1, 0, 7);
        rst = 0;
        drive(0, 0, 7);

        for (i = 0; i < 500; i = i + 1) begin
            rst = (draw() >> 8) % 50 == 0;
            drive((draw() >> 8) % 4 == 0, draw() >> 8, (draw() >> 8) >> ((draw() >> 8) % 4 + 20));
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
