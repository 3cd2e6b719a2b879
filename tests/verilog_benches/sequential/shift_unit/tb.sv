// shift_unit: each mode for more than a full turn from a lopsided pattern, then random modes and
// asynchronous resets. The model works with arithmetic on integers.
module tb;
    reg         clk, rst, serial;
    reg  [2:0]  mode;
    reg  [7:0]  data;
    wire [7:0]  q;
    wire        carry, parity;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0013;

    integer     held;           // modelled register, 0..255
    integer     spilled;        // modelled carry
    integer     i, j;

    shift_unit dut (
        .clk(clk), .rst(rst), .mode(mode), .data(data), .serial(serial), .q(q), .carry(carry), .parity(parity)
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
        reg x_parity;
        begin
            x_parity = held[0] + held[1] + held[2] + held[3] + held[4] + held[5] + held[6] + held[7];
            samples = samples + 1;
            if ({q, carry, parity} !== {held[7:0], spilled[0], x_parity}) mismatches = mismatches + 1;
        end
    endtask

    task clear;
        begin
            held = 0;
            spilled = 0;
        end
    endtask

    task step;
        integer top, bottom;
        begin
            top = held / 128;
            bottom = held % 2;
            if (rst) clear;
            else if (mode == 1) begin
                held = data;
                spilled = 0;
            end else if (mode == 3 || mode == 5 || mode == 6) begin
                held = held / 2;
                if ((mode == 3 && serial) || (mode == 5 && bottom == 1) || (mode == 6 && top == 1)) held = held + 128;
                spilled = bottom;
            end else if (mode != 0) begin
                held = (2 * held) % 256;
                if ((mode == 2 && serial) || (mode == 4 && top == 1) || (mode == 7 && spilled == 1)) held = held + 1;
                spilled = top;
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

    task drive(input [2:0] what, input [7:0] value, input bit_in);
        begin
            mode = what;
            data = value;
            serial = bit_in;
            cycle;
        end
    endtask

    initial begin
        clk = 0;
        mode = 1; data = 8'hff; serial = 1;
        rst = 1;
        clear;
        #2 check;
        cycle;
        mode = 2;
        cycle;
        rst = 0;

        for (i = 0; i < 8; i = i + 1) begin
            drive(1, 8'hb2, i);
            for (j = 0; j < 10; j = j + 1) drive(i, 8'h5d, (j >> 1) ^ i);
            drive(1, 8'h61, i);
            for (j = 0; j < 10; j = j + 1) drive(i, 8'h11, j);
        end
        // Load clears a carry of 1; hold keeps it.
        drive(1, 8'hff, 0);
        drive(4, 8'h00, 0);
        drive(0, 8'h00, 0);
        drive(0, 8'h00, 1);
        drive(1, 8'h00, 1);

        // Asynchronous reset with the clock low, then with the clock high.
        drive(1, 8'h9d, 0);
        drive(4, 8'h00, 0);
        rst = 1;
        clear;
        #2 check;
        rst = 0;
        drive(2, 8'h00, 1);
        drive(3, 8'h00, 1);
        mode = 3;
        #2 clk = 1;
        step;
        #3 check;
        rst = 1;
        clear;
        #2 check;
        clk = 0;
        #1 rst = 0;
        drive(0, 8'h00, 1);

        for (i = 0; i < 500; i = i + 1) begin
            if ((draw() >> 8) % 40 == 0) begin
                rst = 1;
                clear;
            end
            drive(draw() >> 8, draw() >> 8, draw() >> 8);
            rst = 0;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
