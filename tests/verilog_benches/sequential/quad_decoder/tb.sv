// quad_decoder: turns in both directions past both ends of the range, glitches, clears and resets
// that fall on movements. The model turns phases into an angle (quarter turns) and counts angle
// differences.
module tb;
    reg         clk, rst, clear, a, b;
    wire signed [7:0] position;
    wire        forward, fault;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0014;

    integer     total, angle, last_angle;
    reg         x_forward, x_fault;
    integer     i;

    quad_decoder dut (
        .clk(clk), .rst(rst), .clear(clear), .a(a), .b(b), .position(position), .forward(forward), .fault(fault)
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
            if ({position, forward, fault} !== {total[7:0], x_forward, x_fault}) mismatches = mismatches + 1;
        end
    endtask

    task step;
        integer moved;
        begin
            moved = (angle - last_angle + 8) % 4;
            last_angle = angle;
            if (rst || clear) begin
                total = 0;
                x_fault = 0;
                if (rst) x_forward = 1;
            end else begin
                if (moved == 1) begin
                    total = total + 1;
                    x_forward = 1;
                end
                if (moved == 3) begin
                    total = total - 1;
                    x_forward = 0;
                end
                if (moved == 2) x_fault = 1;
            end
        end
    endtask

    // Turns by so many quarter turns and waits for one clock period; outputs are looked at before
    // and after the rising edge.
    task turn(input integer quarters);
        begin
            angle = (angle + quarters + 8) % 4;
            a = angle == 1 || angle == 2;
            b = angle >= 2;
            #3 check;
            #2 clk = 1;
            step;
            #3 check;
            // The phases wobble around the falling edge, where nobody looks at them.
            a = ~a;
            #1 clk = 0;
            #1 a = ~a;
        end
    endtask

    initial begin
        clk = 0;
        angle = 2; last_angle = 0; total = 0;
        a = 1; b = 1;
        clear = 0;
        rst = 1;
        #2 clk = 1;
        step;
        #3 check;
        #1 clk = 0;
        #1 rst = 0;

        // The phases were 11 in reset, so this is no movement.
        turn(0);
        turn(1);
        turn(-1);
        turn(-1);
        turn(0);
        // A step at the very edge of a reset is lost, and the next one counts from there.
        rst = 1;
        turn(-1);
        turn(-1);
        rst = 0;
        turn(0);
        turn(-1);
        turn(1);
        // Past both ends.
        for (i = 0; i < 135; i = i + 1) turn(1);
        for (i = 0; i < 12; i = i + 1) turn(-1);
        clear = 1;
        turn(1);
        clear = 0;
        turn(0);
        for (i = 0; i < 135; i = i + 1) turn(-1);
        // Glitches from each pair of phases; counting goes on.
        for (i = 0; i < 6; i = i + 1) begin
            turn(2);
            turn(1);
            turn(0);
            if (i == 3) begin
                clear = 1;
                turn(2);
                clear = 0;
                turn(0);
            end
            if (i == 4) turn(-1);
        end
        // Clear keeps the direction; reset does not.
        turn(-1);
        clear = 1;
        turn(0);
        turn(1);
        turn(-1);
        clear = 0;
        turn(0);
        rst = 1; clear = 1;
        turn(1);
        rst = 0; clear = 0;
        turn(2);
        turn(-1);
        // rst without an edge does nothing.
        rst = 1;
        #2 check;
        rst = 0;
        turn(0);
        rst = 1;
        turn(2);
        rst = 0;
        turn(0);

        for (i = 0; i < 500; i = i + 1) begin
            rst = (draw() >> 8) % 50 == 0;
            clear = (draw() >> 8) % 25 == 0;
            turn(((draw() >> 8) % 12 == 0) ? 2 : (draw() >> 8) % 3 - 1);
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
