// wrap_counter: full ranges in both directions, limits 0 and 255, a limit that drops below the
// count, loads below, at and above the limit, asynchronous resets.
module tb;
    reg         clk, rst_n, load, enable, down;
    reg  [7:0]  load_value, limit;
    wire [7:0]  count;
    wire        wrapped;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0010;

    integer     at;             // modelled count
    reg         x_wrapped;
    integer     i;

    wrap_counter dut (
        .clk(clk), .rst_n(rst_n), .load(load), .load_value(load_value), .enable(enable), .down(down), .limit(limit),
        .count(count), .wrapped(wrapped)
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
            if ({count, wrapped} !== {at[7:0], x_wrapped}) mismatches = mismatches + 1;
        end
    endtask

    task clear;
        begin
            at = 0;
            x_wrapped = 0;
        end
    endtask

    task step;
        integer top;
        begin
            top = limit;
            x_wrapped = 0;
            if (!rst_n) clear;
            else if (load) begin
                at = load_value;
                if (at > top) at = top;
            end else if (enable && !down) begin
                at = at + 1;
                x_wrapped = at > top;
                if (at > top) at = 0;
            end else if (enable) begin
                at = at - 1;
                x_wrapped = at < 0;
                if (at < 0 || at > top) at = top;
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

    task run(input integer n);
        integer k;
        for (k = 0; k < n; k = k + 1) cycle;
    endtask

    task set(input [7:0] value);
        begin
            load = 1;
            load_value = value;
            cycle;
            load = 0;
            load_value = ~value;
        end
    endtask

    initial begin
        clk = 0;
        load = 1; load_value = 33; enable = 1; down = 0; limit = 200;
        rst_n = 0;
        clear;
        #2 check;
        run(2);
        rst_n = 1;
        load = 0;

        // Up, then down, through whole ranges.
        limit = 5;
        run(15);
        down = 1;
        run(15);
        limit = 255; down = 0;
        set(250);
        run(9);
        down = 1;
        run(9);
        limit = 0;
        run(4);
        down = 0;
        run(4);

        // The limit drops below the count: hold, down (corrected), up (wraps).
        limit = 100;
        set(90);
        limit = 40; enable = 0;
        run(2);
        enable = 1; down = 1;
        run(3);
        limit = 100;
        set(90);
        limit = 89;
        run(2);
        limit = 100;
        set(90);
        limit = 90;
        run(2);
        limit = 100;
        set(90);
        limit = 40; down = 0;
        run(3);

        // Loads win over counting and are limited.
        set(39);
        set(40);
        set(41);
        set(255);
        run(2);
        enable = 0;
        set(7);
        run(2);
        set(200);
        down = 1;
        set(0);
        enable = 1;
        run(2);
        set(0);
        // A load at the edge where the count would have wrapped.
        load_value = 3; load = 1;
        cycle;
        load = 0;
        run(5);

        // Asynchronous reset with the clock low, then with the clock high.
        rst_n = 0;
        clear;
        #2 check;
        rst_n = 1;
        down = 0;
        set(17);
        #2 clk = 1;
        step;
        #3 check;
        rst_n = 0;
        clear;
        #2 check;
        clk = 0;
        #1 rst_n = 1;
        cycle;
        // A wrap flag is cleared by reset as well.
        limit = 1;
        run(2);
        rst_n = 0;
        clear;
        #2 check;
        cycle;
        rst_n = 1;

        for (i = 0; i < 700; i = i + 1) begin
            load = (draw() >> 8) % 12 == 0;
            load_value = (draw() >> 8) >> ((draw() >> 8) % 6 + 18);
            enable = (draw() >> 8) % 5 != 0;
            if (i % 16 == 0) down = draw() >> 8;
            if ((draw() >> 8) % 8 == 0) limit = ((draw() >> 8) & 255) >> ((draw() >> 8) % 8);
            if ((draw() >> 8) % 60 == 0) begin
                rst_n = 0;
                clear;
            end
            cycle;
            rst_n = 1;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
