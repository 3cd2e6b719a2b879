// bit_extent: single bits, all pairs of end points (filled, hollow, with one hole), then random
// words of three densities.
module tb;
    reg  [15:0] field;
    wire        empty, solid;
    wire [3:0]  low, high;
    wire [4:0]  span;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0001;

    integer     i, j, first, last, ones;
    reg         x_empty, x_solid;
    reg  [3:0]  x_low, x_high;
    reg  [4:0]  x_span;

    bit_extent dut (.field(field), .empty(empty), .low(low), .high(high), .span(span), .solid(solid));

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    task try(input [15:0] word);
        integer k;
        begin
            field = word;
            first = -1;
            last = -1;
            ones = 0;
            for (k = 0; (word >> k) != 0; k = k + 1)
                if (word[k]) begin
                    if (first < 0) first = k;
                    last = k;
                    ones = ones + 1;
                end
            if (ones == 0) begin
                x_empty = 1; x_low = 0; x_high = 0; x_span = 0; x_solid = 0;
            end else begin
                x_empty = 0;
                x_low = first;
                x_high = last;
                x_span = last - first + 1;
                x_solid = (ones == last - first + 1);
            end
            #5;
            samples = samples + 1;
            if ({empty, low, high, span, solid} !== {x_empty, x_low, x_high, x_span, x_solid})
                mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        try(16'h0000);
        try(16'hffff);
        try(16'h0000);
        for (i = 0; i < 16; i = i + 1)
            for (j = i; j < 16; j = j + 1) begin
                try((17'h1 << (j + 1)) - (17'h1 << i));
                if ((i + j) % 2) try((16'h1 << i) | (16'h1 << j));
                else try(((17'h1 << (j + 1)) - (17'h1 << i)) & ~(17'h1 << (i + (draw() >> 4) % 16)));
            end
        for (i = 0; i < 150; i = i + 1) try(draw() >> 7);
        for (i = 0; i < 75; i = i + 1) try((draw() >> 7) & (draw() >> 9) & (draw() >> 5));
        for (i = 0; i < 75; i = i + 1) try((draw() >> 7) | (draw() >> 9) | (draw() >> 5));
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
