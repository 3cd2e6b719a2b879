// round_mul: all pairs of corner values, products that are ties (odd and even, both signs) or next
// to ties, then random operands.
module tb;
    reg  signed [7:0] a, b;
    wire signed [7:0] product;
    wire              inexact, clipped;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0009;

    reg signed [7:0] corner [0:10];
    integer     i, j;

    round_mul dut (.a(a), .b(b), .product(product), .inexact(inexact), .clipped(clipped));

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    task try(input signed [7:0] left, input signed [7:0] right);
        integer exact, size, whole, twice;
        reg signed [7:0] x_product;
        reg x_inexact, x_clipped;
        begin
            a = left;
            b = right;
            // Round the magnitude; ties to even are symmetric about zero.
            exact = left;
            exact = exact * right;
            size = (exact < 0) ? -exact : exact;
            whole = size / 128;
            twice = 2 * (size % 128);
            x_inexact = twice != 0;
            if (twice > 128) whole = whole + 1;
            else if (twice == 128) whole = whole + whole % 2;
            x_clipped = 0;
            if (exact < 0) whole = -whole;
            else if (whole == 128) begin
                whole = 127;
                x_clipped = 1;
            end
            x_product = whole;
            #5;
            samples = samples + 1;
            if ({product, inexact, clipped} !== {x_product, x_inexact, x_clipped}) mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        corner[0] = -128; corner[1] = -127; corner[2] = -65; corner[3] = -64; corner[4] = -1;  corner[5] = 0;
        corner[6] = 1;    corner[7] = 2;    corner[8] = 63;  corner[9] = 64;  corner[10] = 127;
        for (i = 0; i < 11; i = i + 1)
            for (j = 0; j < 11; j = j + 1)
                try(corner[i], corner[j]);
        // 64 times an odd number is a tie, and so are 32 times twice an odd number and 16 times
        // four times one.
        for (i = -25; i <= 25; i = i + 2) begin
            try(64, i);
            try(i, -64);
            try(32, 2 * i);
            try(-4 * i, 16);
            try(i, 65);
            try(-63, i);
        end
        for (i = -128; i < 128; i = i + 15) begin
            try(-128, i);
            try(i, 127);
        end
        for (i = 0; i < 400; i = i + 1) try(draw() >> 8, draw() >> 8);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
