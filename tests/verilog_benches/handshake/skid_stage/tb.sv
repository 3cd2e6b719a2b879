// skid_stage: streaming without pause, a blocked output, a starved input, every pattern of both
// partners over four cycles, asynchronous resets at every level. The model numbers the bytes that
// went in and came out.
module tb;
    reg         clk, rst_n, in_valid, out_ready;
    reg  [7:0]  in_data;
    wire        in_ready, out_valid;
    wire [7:0]  out_data;
    wire [1:0]  level;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0040;

    reg  [7:0]  passed [0:4095];
    integer     came, went, held;
    integer     i, j;

    skid_stage dut (
        .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .level(level)
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
            held = came - went;
            samples = samples + 1;
            if ({in_ready, out_valid, level} !== {held < 2, held > 0, held[1:0]} ||
                (held > 0 && out_data !== passed[went]))
                mismatches = mismatches + 1;
        end
    endtask

    task step;
        begin
            held = came - went;
            if (!rst_n) went = came;
            else begin
                if (in_valid && held < 2) begin
                    passed[came] = in_data;
                    came = came + 1;
                end
                if (out_ready && held > 0) went = went + 1;
            end
        end
    endtask

    // One clock period. Inputs were set while the clock is low; outputs are looked at before and
    // after the rising edge.
    task drive(input from, input to);
        begin
            in_valid = from;
            out_ready = to;
            in_data = draw() >> 8;
            #3 check;
            #2 clk = 1;
            step;
            #3 check;
            #1 clk = 0;
            #1;
        end
    endtask

    // Asynchronous reset between clock edges.
    task reset_now;
        begin
            rst_n = 0;
            went = came;
            #2 check;
            rst_n = 1;
        end
    endtask

    initial begin
        clk = 0;
        came = 0; went = 0;
        in_valid = 1; out_ready = 0; in_data = 8'h3e;
        rst_n = 0;
        #2 check;
        drive(1, 0);
        drive(1, 1);
        rst_n = 1;
        drive(0, 1);
        for (i = 0; i < 8; i = i + 1) drive(1, 1);
        for (i = 0; i < 5; i = i + 1) drive(1, 0);
        for (i = 0; i < 5; i = i + 1) drive(0, 0);
        for (i = 0; i < 5; i = i + 1) drive(1, 1);
        for (i = 0; i < 5; i = i + 1) drive(0, 1);
        for (i = 0; i < 256; i = i + 1) begin
            drive(i, i >> 4);
            drive(i >> 1, i >> 5);
            drive(i >> 2, i >> 6);
            drive(i >> 3, i >> 7);
        end
        // Resets with 0, 1 and 2 bytes held, then with the clock high.
        for (i = 0; i < 3; i = i + 1) begin
            for (j = 0; j < 3; j = j + 1) drive(0, 1);
            for (j = 0; j < i; j = j + 1) drive(1, 0);
            reset_now;
            drive(i != 1, 0);
            drive(0, 1);
        end
        drive(1, 0);
        drive(1, 0);
        in_valid = 1; out_ready = 0;
        #2 clk = 1;
        step;
        #3 check;
        rst_n = 0;
        went = came;
        #2 check;
        clk = 0;
        #1 drive(1, 1);
        rst_n = 1;
        drive(1, 0);

        for (i = 0; i < 400; i = i + 1) begin
            if ((draw() >> 8) % 60 == 0) reset_now;
            drive((draw() >> 8) % 3 != 0, (draw() >> 8) % 3 != 0);
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
