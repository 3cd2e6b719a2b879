// byte_lane_ram: all words written once and read back, every lane pattern at every second word,
// writes and reads without enable, then random accesses. The model is a flat array of 128 bytes.
module tb;
    reg         clk, enable;
    reg  [3:0]  lanes;
    reg  [4:0]  address;
    reg  [31:0] write_data;
    wire [31:0] read_data;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0031;

    reg  [7:0]  store [0:127];
    reg  [31:0] x_read;
    reg         known;              // something was read or written already
    integer     i, j;

    byte_lane_ram dut (
        .clk(clk), .enable(enable), .lanes(lanes), .address(address), .write_data(write_data), .read_data(read_data)
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
        if (known) begin
            samples = samples + 1;
            if (read_data !== x_read) mismatches = mismatches + 1;
        end
    endtask

    task step;
        integer n;
        if (enable) begin
            for (n = 0; n < 4; n = n + 1)
                if (lanes[n]) store[4 * address + n] = write_data >> (8 * n);
            x_read = {store[4 * address + 3], store[4 * address + 2], store[4 * address + 1], store[4 * address]};
            known = 1;
        end
    endtask

    // One clock period. Inputs were set while the clock is low; outputs are looked at before and
    // after the rising edge.
    task drive(input on, input [3:0] which, input [4:0] where);
        begin
            enable = on;
            lanes = which;
            address = where;
            write_data = draw();
            #3 check;
            #2 clk = 1;
            step;
            #3 check;
            // What stands at the inputs at the falling edge is not taken.
            enable = 1;
            lanes = ~which;
            write_data = ~write_data;
            #1 clk = 0;
            #1;
        end
    endtask

    initial begin
        clk = 0;
        known = 0;
        // Every word is written before any is read.
        for (i = 0; i < 32; i = i + 1) drive(1, 4'b1111, i * 11 + 5);
        for (i = 0; i < 32; i = i + 1) drive(1, 4'b0000, i);
        for (i = 0; i < 32; i = i + 1) begin
            drive(0, 4'b1111, i * 7);
            drive(1, i / 2, i * 7);
            drive(0, 4'b0000, i * 7 + 1);
            drive(1, 4'b0000, i * 7 + 7);
        end
        // Reads alternate with writes to the same word.
        for (i = 0; i < 16; i = i + 1) begin
            drive(1, i, 9);
            drive(1, 4'b0000, 9);
            drive(1, i, 22);
            drive(1, ~i, 9);
            drive(1, 4'b0000, 22);
        end
        for (i = 0; i < 32; i = i + 1) drive(1, 4'b0000, 31 - i);
        for (i = 0; i < 600; i = i + 1) drive((draw() >> 8) % 4 != 0, (draw() >> 8) & (draw() >> 12), draw() >> 8);
        for (i = 0; i < 32; i = i + 1) drive(1, 4'b0000, i * 3);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
