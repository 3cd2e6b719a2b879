// bcd_add3: carry chains through every digit, all digit pairs in every place, every invalid digit
// in every place, random numbers.
module tb;
    reg  [11:0] a, b;
    reg         carry_in;
    wire [11:0] sum;
    wire        carry_out, invalid;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0008;

    integer     i, j;

    bcd_add3 dut (.a(a), .b(b), .carry_in(carry_in), .sum(sum), .carry_out(carry_out), .invalid(invalid));

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    function [11:0] packed_bcd(input integer n);
        begin
            packed_bcd[3:0] = n % 10;
            packed_bcd[7:4] = (n / 10) % 10;
            packed_bcd[11:8] = (n / 100) % 10;
        end
    endfunction

    function integer worth(input [11:0] digits);
        worth = digits[11:8] * 100 + digits[7:4] * 10 + digits[3:0];
    endfunction

    function broken(input [11:0] digits);
        broken = packed_bcd(worth(digits)) != digits || worth(digits) > 999;
    endfunction

    task try(input [11:0] left, input [11:0] right, input extra);
        integer total;
        reg [11:0] x_sum;
        reg x_carry, x_invalid;
        begin
            a = left;
            b = right;
            carry_in = extra;
            x_invalid = broken(left) || broken(right);
            total = worth(left) + worth(right) + extra;
            x_carry = !x_invalid && total > 999;
            x_sum = x_invalid ? 0 : packed_bcd(total);
            #5;
            samples = samples + 1;
            if ({sum, carry_out, invalid} !== {x_sum, x_carry, x_invalid}) mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        try(12'h000, 12'h000, 0);
        try(12'h999, 12'h999, 1);
        try(12'h999, 12'h000, 1);
        try(12'h000, 12'h999, 1);
        try(12'h099, 12'h001, 0);
        try(12'h900, 12'h099, 1);
        try(12'h900, 12'h099, 0);
        // Each pair of digits stands once in every place.
        for (i = 0; i < 10; i = i + 1)
            for (j = 0; j < 10; j = j + 1)
                try(packed_bcd(i * 100 + ((i + 3) % 10) * 10 + (i + 7) % 10),
                    packed_bcd(j * 100 + ((j + 6) % 10) * 10 + (j + 1) % 10), i ^ j);
        // One digit from 10 to 15, at each of the six places, among digits that sum low or high.
        for (i = 0; i < 6; i = i + 1)
            for (j = 10; j < 16; j = j + 1) begin
                try((i < 3) ? j << (4 * i) : 0, (i < 3) ? 0 : j << (4 * (i - 3)), 0);
                try((i < 3) ? (12'h999 & ~(12'hf << (4 * i))) | (j << (4 * i)) : 12'h999,
                    (i < 3) ? 12'h999 : (12'h999 & ~(12'hf << (4 * (i - 3)))) | (j << (4 * (i - 3))), 1);
            end
        for (i = 0; i < 250; i = i + 1)
            try(packed_bcd((draw() >> 5) % 1000), packed_bcd((draw() >> 5) % 1000), draw() >> 9);
        for (i = 0; i < 100; i = i + 1) try(draw() >> 5, packed_bcd((draw() >> 5) % 1000), draw() >> 9);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
