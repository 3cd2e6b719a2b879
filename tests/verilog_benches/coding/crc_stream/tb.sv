// crc_stream: a published check value, matching bytes, restarts with and without a byte, the length
// limit, resets between and at clock edges. The model is table driven.
module tb;
    reg         clk, rst_n, start, valid;
    reg  [7:0]  data;
    wire [7:0]  crc, length;
    wire        match;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed000c;

    reg  [7:0]  lookup [0:255];
    reg  [7:0]  x_crc, row;
    reg         x_match;
    integer     x_length;
    reg  [8*9-1:0] digits = "123456789";
    integer     i, j;

    crc_stream dut (
        .clk(clk), .rst_n(rst_n), .start(start), .valid(valid), .data(data), .crc(crc), .match(match), .length(length)
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
            if ({crc, match, length} !== {x_crc, x_match, x_length[7:0]}) mismatches = mismatches + 1;
        end
    endtask

    task forget;
        begin
            x_crc = 0;
            x_match = 0;
            x_length = 0;
        end
    endtask

    task step;
        begin
            if (start || !rst_n) forget;
            if (valid && rst_n) begin
                x_match = data == x_crc;
                x_crc = ~lookup[~x_crc ^ data];
                if (x_length < 255) x_length = x_length + 1;
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

    task drive(input s, input v, input [7:0] d);
        begin
            start = s;
            valid = v;
            data = d;
            cycle;
        end
    endtask

    initial begin
        // Rows for single bits follow from each other; the rest is their exclusive-or.
        lookup[0] = 0;
        row = 8'h2f;
        for (i = 1; i < 256; i = i * 2) begin
            for (j = 0; j < i; j = j + 1) lookup[i + j] = row ^ lookup[j];
            row = row[7] ? (row << 1) ^ 8'h2f : row << 1;
        end

        clk = 0;
        start = 0; valid = 1; data = 8'h5a;
        rst_n = 0;
        forget;
        #2 check;
        cycle;
        rst_n = 1;

        // The check value of the nine digits, then that value itself, which matches.
        for (i = 0; i < 9; i = i + 1) drive(0, 1, digits[8*(8-i) +: 8]);
        samples = samples + 1;
        if (crc !== 8'hdf) mismatches = mismatches + 1;
        drive(0, 0, 8'hdf);
        drive(0, 1, 8'hdf);
        drive(0, 0, 8'h11);
        drive(0, 1, x_crc);
        drive(1, 0, 8'h22);
        drive(0, 1, 8'h00);
        drive(0, 1, 8'h31);
        drive(1, 1, 8'h00);
        drive(0, 1, 8'h77);
        drive(1, 1, x_crc);
        drive(0, 1, x_crc ^ 8'h80);
        drive(0, 1, x_crc);

        // Asynchronous reset between two edges, with the clock low and with the clock high.
        rst_n = 0;
        forget;
        #2 check;
        rst_n = 1;
        drive(0, 1, 8'hc3);
        #2 clk = 1;
        step;
        #2 check;
        rst_n = 0;
        forget;
        #2 check;
        clk = 0;
        #1 rst_n = 1;
        drive(0, 0, 8'h44);

        // Past the length limit, with a matching byte every seventh time.
        for (i = 0; i < 262; i = i + 1) drive(0, 1, (i % 7 == 3) ? x_crc : draw() >> 8);
        drive(1, 1, 8'h99);
        for (i = 0; i < 300; i = i + 1) begin
            start = (draw() >> 8) % 10 == 0;
            valid = (draw() >> 8) % 3 != 0;
            data = draw() >> 8;
            if ((draw() >> 8) % 5 == 0) data = x_crc;
            if ((draw() >> 8) % 9 == 0) data = 0;
            if ((draw() >> 8) % 40 == 0) begin
                rst_n = 0;
                forget;
            end
            cycle;
            rst_n = 1;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
