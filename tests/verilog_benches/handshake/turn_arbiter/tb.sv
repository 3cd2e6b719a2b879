// turn_arbiter: every request pattern held long enough for full turns, early withdrawals at every
// age, single requesters over several turns, idle gaps, asynchronous resets, random requests. The
// model searches with integers.
module tb;
    reg         clk, rst;
    reg  [3:0]  req;
    wire [3:0]  grant;
    wire [1:0]  owner;
    wire        fresh;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0041;

    integer     who, used;          // last owner; cycles its turn has lasted, 0 when nobody has the resource
    integer     i, j;

    turn_arbiter dut (.clk(clk), .rst(rst), .req(req), .grant(grant), .owner(owner), .fresh(fresh));

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
        reg [3:0] x_grant;
        begin
            x_grant = (used > 0) ? 4'b0001 << who : 4'b0000;
            samples = samples + 1;
            if ({grant, owner, fresh} !== {x_grant, who[1:0], used == 1}) mismatches = mismatches + 1;
        end
    endtask

    task clear;
        begin
            who = 3;
            used = 0;
        end
    endtask

    task step;
        integer n, next;
        begin
            if (rst) clear;
            else if (used > 0 && used < 4 && req[who]) used = used + 1;
            else begin
                next = -1;
                for (n = 4; n >= 1; n = n - 1)
                    if (req[(who + n) % 4]) next = (who + n) % 4;
                used = (next >= 0) ? 1 : 0;
                if (next >= 0) who = next;
            end
        end
    endtask

    // One clock period. Inputs were set while the clock is low; outputs are looked at before and
    // after the rising edge.
    task drive(input [3:0] wants);
        begin
            req = wants;
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
            rst = 1;
            clear;
            #2 check;
            rst = 0;
        end
    endtask

    initial begin
        clk = 0;
        req = 4'b1111;
        rst = 1;
        clear;
        #2 check;
        drive(4'b1111);
        drive(4'b0100);
        rst = 0;
        drive(4'b0000);
        for (i = 0; i < 16; i = i + 1) begin
            for (j = 0; j < 18; j = j + 1) drive(i);
            if (i % 3 == 0) drive(4'b0000);
        end
        // A requester withdraws after one to four cycles while all, one or no others ask.
        for (i = 0; i < 4; i = i + 1)
            for (j = 1; j < 6; j = j + 1) begin
                reset_now;
                repeat (j) drive(4'b0001 << i);
                drive(4'b1111 & ~(4'b0001 << i));
                drive(4'b1111);
                drive(4'b0001 << i);
                drive(4'b0000);
                drive(4'b0000);
                drive(4'b1111);
                drive(4'b1111);
                drive(4'b0000);
                drive(4'b0001 << ((i + 2) % 4) | 4'b0001 << i);
            end
        // A blink of the request ends the turn, even if nobody else asks.
        drive(4'b0100);
        drive(4'b0100);
        drive(4'b0000);
        drive(4'b0100);
        repeat (5) drive(4'b0100);
        // Others come and go during a turn.
        drive(4'b0101);
        drive(4'b1101);
        drive(4'b0110);
        drive(4'b0111);
        // Reset with the clock high, held over an edge.
        #2 clk = 1;
        step;
        #3 check;
        rst = 1;
        clear;
        #2 check;
        clk = 0;
        #1 drive(4'b0110);
        rst = 0;
        drive(4'b1110);

        for (i = 0; i < 800; i = i + 1) begin
            if ((draw() >> 8) % 100 == 0) reset_now;
            case ((draw() >> 8) % 8)
                0: drive(draw() >> 8);
                1: drive(4'b0000);
                2: drive(req ^ (4'b0001 << (draw() >> 8) % 4));
                default: drive(req);
            endcase
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
