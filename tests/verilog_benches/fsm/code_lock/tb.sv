// code_lock: the right code with and without pauses, codes wrong in one digit each, cancels,
// relocks at every distance, alarms, keys pressed while they are ignored, resets in every
// situation. The model keeps the attempt as a decimal number.
module tb;
    reg         clk, rst_n, key_valid, relock;
    reg  [3:0]  key;
    wire        unlocked, alarm;
    wire [1:0]  entered, failures;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0020;

    integer     attempt, digits, wrong;     // number entered so far, how many digits, wrong attempts
    integer     open_for, alarm_for;        // cycles still to go
    integer     i, j;

    code_lock dut (
        .clk(clk), .rst_n(rst_n), .key_valid(key_valid), .key(key), .relock(relock),
        .unlocked(unlocked), .alarm(alarm), .entered(entered), .failures(failures)
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
            if ({unlocked, alarm, entered, failures} !== {open_for > 0, alarm_for > 0, digits[1:0], wrong[1:0]})
                mismatches = mismatches + 1;
        end
    endtask

    task forget;
        begin
            attempt = 0; digits = 0; wrong = 0; open_for = 0; alarm_for = 0;
        end
    endtask

    task step;
        begin
            if (!rst_n) forget;
            else if (open_for > 0) open_for = relock ? 0 : open_for - 1;
            else if (alarm_for > 0) begin
                alarm_for = alarm_for - 1;
                if (alarm_for == 0) wrong = 0;
            end else if (key_valid) begin
                attempt = (key < 10) ? attempt * 10 + key : 0;
                digits = (key < 10) ? digits + 1 : 0;
                if (digits == 4) begin
                    if (attempt == 2725) begin
                        open_for = 8;
                        wrong = 0;
                    end else wrong = wrong + 1;
                    if (wrong == 3) alarm_for = 16;
                    attempt = 0;
                    digits = 0;
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

    task press(input [3:0] k);
        begin
            key_valid = 1;
            key = k;
            cycle;
            key_valid = 0;
            key = ~k;
        end
    endtask

    task enter(input [15:0] four);
        begin
            press(four[15:12]);
            press(four[11:8]);
            press(four[7:4]);
            press(four[3:0]);
        end
    endtask

    task rest(input integer n);
        integer k;
        for (k = 0; k < n; k = k + 1) cycle;
    endtask

    // Asynchronous reset between clock edges.
    task reset_now;
        begin
            rst_n = 0;
            forget;
            #2 check;
            rst_n = 1;
        end
    endtask

    initial begin
        clk = 0;
        key_valid = 1; key = 2; relock = 0;
        rst_n = 0;
        forget;
        #2 check;
        cycle;
        cycle;
        rst_n = 1;
        key_valid = 0;

        enter(16'h2725);
        rest(10);
        // Pauses between keys, and relock held while locked.
        relock = 1;
        press(2); rest(2); press(7); rest(1); press(2); rest(3); press(5);
        relock = 0;
        rest(3);
        relock = 1;
        rest(2);
        relock = 0;

        // Relock at every distance; a digit at every edge meanwhile, so that a key taken too early
        // shows.
        for (i = 1; i < 10; i = i + 1) begin
            enter(16'h2725);
            for (j = 1; j < 10; j = j + 1) begin
                relock = j == i;
                press(j);
            end
            relock = 0;
            press(12);
        end

        // One digit wrong at a time; each time the right code afterwards clears the failures.
        for (i = 0; i < 4; i = i + 1) begin
            enter(16'h2725 ^ (1 << (4 * i)));
            rest(1);
            enter(16'h2725 ^ (2 << (4 * ((i + 1) % 4))));
            enter(16'h2725);
            relock = 1;
            rest(1);
            relock = 0;
        end
        // The code across two attempts, and doubled prefixes, do not open.
        enter(16'h0027);
        enter(16'h2527);
        reset_now;
        enter(16'h2272);
        enter(16'h5272);
        reset_now;
        // The code in other orders.
        enter(16'h5272);
        enter(16'h7225);
        reset_now;

        // Every cancel key, after every number of digits, and after failures.
        for (i = 10; i < 16; i = i + 1) begin
            for (j = 0; j < i % 4; j = j + 1) press(2);
            press(i);
            if (i == 12) enter(16'h9999);
            if (i == 14) enter(16'h2724);
        end
        enter(16'h2725);
        rest(9);

        // Alarm: keys, cancel, relock and the right code are ignored in it.
        enter(16'h1111);
        press(2);
        press(11);
        enter(16'h2222);
        enter(16'h3333);
        relock = 1;
        rest(3);
        relock = 0;
        enter(16'h2725);
        press(15);
        rest(6);
        press(2); press(7); press(2); press(5);
        press(2); press(7); press(2); press(5);
        rest(9);
        press(13);
        // Alarm with a key at each edge of it, then two failures and the right code.
        enter(16'h0000);
        enter(16'h0000);
        enter(16'h0000);
        for (i = 0; i < 20; i = i + 1) press(2);
        press(10);
        enter(16'h2729);
        enter(16'h2720);
        enter(16'h2725);
        rest(2);

        // Resets: while unlocked, in an attempt, after a failure, in an alarm (also held over an
        // edge), with the clock high.
        reset_now;
        rest(1);
        press(2); press(7);
        reset_now;
        press(2); press(5);
        press(10);
        enter(16'h4444);
        reset_now;
        enter(16'h4444);
        enter(16'h4444);
        enter(16'h4444);
        rest(2);
        rst_n = 0;
        forget;
        #2 check;
        press(2);
        rst_n = 1;
        rest(18);
        press(2);
        #2 clk = 1;
        step;
        #3 check;
        rst_n = 0;
        forget;
        #2 check;
        clk = 0;
        #1 rst_n = 1;
        rest(1);

        // Random attempts, mostly near the code.
        for (i = 0; i < 400; i = i + 1) begin
            key_valid = (draw() >> 8) % 4 != 0;
            case (digits)
                0, 2: key = 2;
                1: key = 7;
                default: key = 5;
            endcase
            if ((draw() >> 8) % 10 == 0) key = draw() >> 8;
            relock = (draw() >> 8) % 8 == 0;
            if ((draw() >> 8) % 80 == 0) reset_now;
            cycle;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
