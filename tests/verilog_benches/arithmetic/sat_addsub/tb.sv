// sat_addsub: all pairs of corner values under all operations, sums around the limits, then random
// operands.
module tb;
    reg  signed [7:0] a, b;
    reg         [1:0] op;
    wire signed [7:0] result;
    wire              clipped, negative, zero;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0007;

    reg signed [7:0] corner [0:8];
    integer     i, j, k;

    sat_addsub dut (
        .a(a), .b(b), .op(op), .result(result), .clipped(clipped), .negative(negative), .zero(zero)
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

    task try(input signed [7:0] left, input signed [7:0] right, input [1:0] what);
        integer exact, kept;
        reg signed [7:0] x_result;
        reg x_clipped, x_negative, x_zero;
        begin
            a = left;
            b = right;
            op = what;
            exact = left;
            if (what == 0) exact = exact + right;
            if (what == 1) exact = exact - right;
            if (what == 2) exact = right - exact;
            if (what == 3 && exact < 0) exact = -exact;
            kept = exact;
            if (kept > 127) kept = 127;
            if (kept < -128) kept = -128;
            x_result = kept;
            x_clipped = kept != exact;
            x_negative = kept < 0;
            x_zero = kept == 0;
            #5;
            samples = samples + 1;
            if ({result, clipped, negative, zero} !== {x_result, x_clipped, x_negative, x_zero})
                mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        corner[0] = -128; corner[1] = -127; corner[2] = -64; corner[3] = -1; corner[4] = 0;
        corner[5] = 1;    corner[6] = 64;   corner[7] = 126; corner[8] = 127;
        for (i = 0; i < 9; i = i + 1)
            for (j = 0; j < 9; j = j + 1)
                for (k = 0; k < 4; k = k + 1)
                    try(corner[i], corner[j], k);
        // Exact values from two below to two above each limit.
        for (i = -2; i <= 2; i = i + 1)
            for (j = 0; j < 16; j = j + 1) begin
                k = (draw() >> 8) & 127;
                try(k, 127 + i - k, 0);
                try(-k, -128 + i + k, 0);
                try(k, k - 127 - i, 1);
                try(-1 - k, 127 - k - i, 1);
                try(k - 127 - i, k, 2);
                try(127 - k - i, -1 - k, 2);
            end
        for (i = 0; i < 300; i = i + 1) try(draw() >> 8, draw() >> 8, draw() >> 8);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
