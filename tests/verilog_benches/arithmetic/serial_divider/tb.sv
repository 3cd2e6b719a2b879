// serial_divider: corner operands, back-to-back and ignored starts, operands that change while
// busy, resets while busy.
module tb;
    reg         clk, rst, start;
    reg  [11:0] dividend;
    reg  [7:0]  divisor;
    wire        busy, done, by_zero;
    wire [11:0] quotient;
    wire [7:0]  remainder;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed000a;

    // Model: a countdown, with the results worked out when the operands are taken.
    integer     left;
    reg         x_busy, x_done, x_by_zero, next_by_zero;
    reg  [11:0] x_quotient, next_quotient;
    reg  [7:0]  x_remainder, next_remainder;
    integer     i;

    serial_divider dut (
        .clk(clk), .rst(rst), .start(start), .dividend(dividend), .divisor(divisor),
        .busy(busy), .done(done), .quotient(quotient), .remainder(remainder), .by_zero(by_zero)
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
            if ({busy, done, quotient, remainder, by_zero} !== {x_busy, x_done, x_quotient, x_remainder, x_by_zero})
                mismatches = mismatches + 1;
        end
    endtask

    task step;
        begin
            x_done = 0;
            if (rst) begin
                left = 0;
                x_busy = 0; x_quotient = 0; x_remainder = 0; x_by_zero = 0;
            end else if (left > 0) begin
                left = left - 1;
                if (left == 0) begin
                    x_busy = 0;
                    x_done = 1;
                    x_quotient = next_quotient;
                    x_remainder = next_remainder;
                    x_by_zero = next_by_zero;
                end
            end else if (start) begin
                x_busy = 1;
                next_by_zero = divisor == 0;
                left = next_by_zero ? 1 : 12;
                if (next_by_zero) begin
                    next_quotient = 4095;
                    next_remainder = 0;
                end else begin
                    next_quotient = dividend / divisor;
                    next_remainder = dividend % divisor;
                end
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

    task divide(input [11:0] top, input [7:0] bottom, input integer gap);
        integer n;
        begin
            dividend = top;
            divisor = bottom;
            start = 1;
            cycle;
            start = 0;
            dividend = draw() >> 8;
            divisor = draw() >> 8;
            for (n = 0; n < ((bottom == 0) ? 1 : 12) + gap; n = n + 1) cycle;
        end
    endtask

    initial begin
        clk = 0;
        start = 1; dividend = 100; divisor = 7;
        rst = 1;
        #2 clk = 1;
        step;
        #3 check;
        #1 clk = 0;
        #1 cycle;
        rst = 0; start = 0;
        cycle;

        divide(4095, 1, 0);
        divide(4095, 255, 1);
        divide(0, 1, 0);
        divide(0, 255, 0);
        divide(77, 0, 2);
        divide(4095, 0, 0);
        divide(2048, 0, 1);
        divide(254, 255, 0);
        divide(255, 255, 0);
        divide(0, 0, 0);
        divide(256, 255, 2);
        divide(4095, 128, 0);
        divide(2048, 3, 0);
        divide(1000, 10, 3);
        // Remainders of 0, 1 and divisor - 1 for small and for random divisors.
        divide(5, 2, 0);
        divide(37, 6, 0);
        for (i = 0; i < 9; i = i + 1) begin
            divisor = (2 + ((draw() >> 8) & 127)) >> (i / 2);
            if (divisor == 0) divisor = 3;
            case (i % 3)
                0: divide(divisor * (2 * i + 2) + 1, divisor, 0);
                1: divide(divisor * (2 * i + 2), divisor, 0);
                default: divide(divisor * (2 * i + 3) - 1, divisor, 0);
            endcase
        end

        // A reset edge clears the kept results; while rst is high, no start is taken.
        rst = 1; start = 1; dividend = 900; divisor = 9;
        cycle;
        cycle;
        rst = 0;
        cycle;
        // rst high without a clock edge does nothing.
        rst = 1;
        #2 check;
        rst = 0;
        for (i = 0; i < 5; i = i + 1) cycle;
        // Reset in the middle of a division.
        rst = 1;
        cycle;
        rst = 0; start = 0;
        for (i = 0; i < 14; i = i + 1) cycle;
        // Reset at the very edge that would end one.
        start = 1;
        cycle;
        start = 0;
        for (i = 0; i < 11; i = i + 1) cycle;
        rst = 1;
        cycle;
        rst = 0;
        cycle;
        // start held high: accepted again right after each done.
        start = 1;
        for (i = 0; i < 60; i = i + 1) begin
            dividend = draw() >> 8;
            divisor = (i % 20 == 13) ? 0 : draw() >> 8;
            cycle;
        end
        // Free running.
        for (i = 0; i < 700; i = i + 1) begin
            start = (draw() >> 8) % 3 == 0;
            dividend = draw() >> 8;
            divisor = (draw() >> 8) >> ((draw() >> 8) % 8);
            if ((draw() >> 8) % 4 == 0) divisor = 0;
            rst = (draw() >> 8) % 60 == 0;
            cycle;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
