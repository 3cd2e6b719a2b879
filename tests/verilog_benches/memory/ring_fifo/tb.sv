// ring_fifo: filled and drained past both ends at every position of the ring, push and pop together
// when empty, half full and full, flushes and resets with errors pending, then random traffic in
// fat and lean phases. The model is a shifting array.
module tb;
    reg         clk, rst_n, flush, push, pop;
    reg  [7:0]  push_data;
    wire [7:0]  front;
    wire [2:0]  count;
    wire        empty, full, overflow, underflow;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0030;

    reg  [7:0]  line [0:6];         // line[0] is the oldest
    integer     waiting;
    reg         x_overflow, x_underflow;
    integer     i, j, k;

    ring_fifo dut (
        .clk(clk), .rst_n(rst_n), .flush(flush), .push(push), .push_data(push_data), .pop(pop),
        .front(front), .count(count), .empty(empty), .full(full), .overflow(overflow), .underflow(underflow)
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
        reg [7:0] x_front;
        begin
            x_front = (waiting > 0) ? line[0] : 0;
            samples = samples + 1;
            if ({front, count, empty, full, overflow, underflow} !==
                {x_front, waiting[2:0], waiting == 0, waiting == 6, x_overflow, x_underflow})
                mismatches = mismatches + 1;
        end
    endtask

    task forget;
        begin
            waiting = 0;
            x_overflow = 0;
            x_underflow = 0;
        end
    endtask

    task step;
        integer n;
        begin
            if (!rst_n || flush) forget;
            else begin
                // A pop makes room before the push; an empty queue has nothing to pop.
                if (pop && waiting == 0) x_underflow = 1;
                else if (pop) begin
                    for (n = 1; n < waiting; n = n + 1) line[n - 1] = line[n];
                    waiting = waiting - 1;
                end
                if (push && waiting == 6) x_overflow = 1;
                else if (push) begin
                    line[waiting] = push_data;
                    waiting = waiting + 1;
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

    task drive(input in, input out);
        begin
            push = in;
            pop = out;
            push_data = draw() >> 8;
            cycle;
        end
    endtask

    task wash;
        begin
            flush = 1;
            drive(1, 1);
            flush = 0;
        end
    endtask

    initial begin
        clk = 0;
        flush = 0; push = 1; pop = 1; push_data = 8'h77;
        rst_n = 0;
        forget;
        #2 check;
        cycle;
        drive(1, 0);
        rst_n = 1;
        drive(0, 0);

        // From each position of the ring: fill past full, drain past empty.
        for (i = 0; i < 7; i = i + 1) begin
            for (j = 0; j < 8; j = j + 1) drive(1, 0);
            drive(0, 0);
            for (j = 0; j < 8; j = j + 1) drive(0, 1);
            wash;
            for (j = 0; j < i; j = j + 1) begin
                drive(1, 0);
                drive(0, 1);
            end
        end
        // Exactly full and exactly drained, without an error.
        wash;
        for (j = 0; j < 6; j = j + 1) drive(1, 0);
        drive(0, 0);
        for (j = 0; j < 6; j = j + 1) drive(0, 1);
        drive(0, 0);
        // Push and pop together at every filling, long enough to go round the ring.
        for (i = 0; i < 7; i = i + 1) begin
            wash;
            for (j = 0; j < i; j = j + 1) drive(1, 0);
            for (j = 0; j < 8; j = j + 1) drive(1, 1);
            for (j = 0; j < 6; j = j + 1) drive(0, 1);
        end
        // Both flags, cleared by a flush that ignores push and pop, from full and from empty.
        wash;
        drive(0, 1);
        for (j = 0; j < 7; j = j + 1) drive(1, 0);
        drive(1, 1);
        flush = 1;
        drive(1, 0);
        drive(0, 1);
        flush = 0;
        drive(0, 0);
        drive(1, 0);
        drive(0, 1);

        // Asynchronous reset with bytes and flags: with the clock low, then high.
        drive(0, 1);
        for (j = 0; j < 7; j = j + 1) drive(1, 0);
        rst_n = 0;
        forget;
        #2 check;
        drive(1, 1);
        rst_n = 1;
        drive(1, 0);
        drive(1, 0);
        push = 1; pop = 0;
        #2 clk = 1;
        step;
        #3 check;
        rst_n = 0;
        forget;
        #2 check;
        clk = 0;
        #1 rst_n = 1;
        drive(1, 0);
        drive(0, 1);

        for (i = 0; i < 12; i = i + 1) begin
            k = (i % 3) * 2 + 1;
            for (j = 0; j < 50; j = j + 1) begin
                flush = (draw() >> 8) % 40 == 0;
                if ((draw() >> 8) % 90 == 0) begin
                    rst_n = 0;
                    forget;
                end
                drive((draw() >> 8) % 6 < k, (draw() >> 8) % 6 >= k);
                rst_n = 1;
            end
            flush = 0;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
