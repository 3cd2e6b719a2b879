// thermo_decode: every clean code, every clean code with one and with two flipped bits, then random
// words.
module tb;
    reg  [14:0] therm;
    wire [14:0] repaired;
    wire [3:0]  level;
    wire        bubble;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0002;

    integer     i, j, k;
    reg  [14:0] clean;

    thermo_decode dut (.therm(therm), .repaired(repaired), .level(level), .bubble(bubble));

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    task try(input [14:0] word);
        integer n, votes, count;
        reg [14:0] x_repaired;
        reg [3:0]  x_level;
        reg        x_bubble;
        reg        dark;
        begin
            therm = word;
            count = 0;
            dark = 0;
            x_bubble = 0;
            for (n = 0; n < 15; n = n + 1) begin
                votes = word[n];
                if (n == 0) votes = votes + 1; else votes = votes + word[n - 1];
                if (n < 14) votes = votes + word[n + 1];
                x_repaired[n] = votes >= 2;
                if (votes >= 2) count = count + 1;
                if (!word[n]) dark = 1;
                else if (dark) x_bubble = 1;
            end
            x_level = count;
            #5;
            samples = samples + 1;
            if ({repaired, level, bubble} !== {x_repaired, x_level, x_bubble})
                mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        for (i = 0; i < 16; i = i + 1) begin
            clean = (16'h1 << i) - 1;
            try(clean);
            for (j = 0; j < 15; j = j + 1) begin
                try(clean ^ (15'h1 << j));
                k = (draw() >> 8) % 15;
                if ((i + j) % 2) try(clean ^ (15'h1 << j) ^ (15'h1 << k));
            end
        end
        for (i = 0; i < 200; i = i + 1) try(draw() >> 6);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
