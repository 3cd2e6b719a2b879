// frame_hunt: frames of every length, with and without gaps, false starts, marks inside frames and
// across their ends, restarts and resets everywhere. The model stores the bits of the current hunt or
// frame in a list and reads its meaning from the list's length.
module tb;
    reg         clk, rst, restart, bit_valid, bit_in;
    wire        in_frame, byte_valid, last;
    wire [7:0]  byte_data;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0023;

    reg         list [0:1023];          // bits since the hunt began, or since the mark
    integer     taken;
    reg         x_in_frame, x_byte_valid, x_last;
    reg  [7:0]  x_byte_data;
    integer     gap;                    // idle cycles before each bit
    integer     i, j;

    frame_hunt dut (
        .clk(clk), .rst(rst), .restart(restart), .bit_valid(bit_valid), .bit_in(bit_in),
        .in_frame(in_frame), .byte_valid(byte_valid), .byte_data(byte_data), .last(last)
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
            if ({in_frame, byte_valid, byte_data, last} !== {x_in_frame, x_byte_valid, x_byte_data, x_last})
                mismatches = mismatches + 1;
        end
    endtask

    // Number formed by the list's bits from .. from + n - 1.
    function integer number(input integer from, input integer n);
        integer k;
        begin
            number = 0;
            for (k = from; k < from + n; k = k + 1) number = 2 * number + list[k];
        end
    endfunction

    task hunt;
        begin
            x_in_frame = 0;
            taken = 0;
        end
    endtask

    task step;
        integer size;
        begin
            x_byte_valid = 0;
            x_last = 0;
            if (rst || restart) begin
                hunt;
                if (rst) x_byte_data = 0;
            end else if (bit_valid) begin
                list[taken] = bit_in;
                taken = taken + 1;
                if (!x_in_frame) begin
                    if (taken >= 8 && number(taken - 8, 8) == 178) begin
                        x_in_frame = 1;
                        taken = 0;
                    end
                end else if (taken >= 4) begin
                    size = number(0, 4);
                    if (taken > 4 && (taken - 4) % 8 == 0) begin
                        x_byte_valid = 1;
                        x_byte_data = number(taken - 8, 8);
                    end
                    if (taken == 4 + 8 * size) begin
                        x_last = size != 0;
                        hunt;
                    end
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

    task send(input value);
        integer k;
        begin
            for (k = 0; k < gap; k = k + 1) begin
                bit_valid = 0;
                bit_in = ~value;
                cycle;
            end
            bit_valid = 1;
            bit_in = value;
            cycle;
            bit_valid = 0;
        end
    endtask

    task send_bits(input integer n, input [31:0] value);
        integer k;
        for (k = n - 1; k >= 0; k = k - 1) send(value[k]);
    endtask

    task idle(input integer n);
        integer k;
        for (k = 0; k < n; k = k + 1) cycle;
    endtask

    task cancel;
        begin
            restart = 1;
            cycle;
            restart = 0;
        end
    endtask

    initial begin
        clk = 0;
        gap = 0; taken = 0;
        x_in_frame = 0; x_byte_data = 0;
        restart = 0; bit_valid = 1; bit_in = 1;
        rst = 1;
        #2 clk = 1;
        step;
        #3 check;
        #1 clk = 0;
        #1 cycle;
        rst = 0; bit_valid = 0;

        // Frames of 1 and 2 bytes, with a pause after the last one.
        send_bits(8, 8'hb2); send_bits(4, 1); send_bits(8, 8'ha6);
        idle(3);
        send_bits(8, 8'hb2); send_bits(4, 2); send_bits(16, 16'h01fe);
        // Straight on: an empty frame, then a frame whose bytes are marks, then a frame again.
        send_bits(8, 8'hb2); send_bits(4, 0);
        send_bits(8, 8'hb2); send_bits(4, 2); send_bits(16, 16'hb2b2);
        send_bits(8, 8'hb2); send_bits(4, 0);
        // The end of a frame is no beginning of a mark: 1 and 1011001, then the rest only.
        send_bits(8, 8'hb2); send_bits(4, 1); send_bits(8, 8'b0101_1001); send(0);
        idle(1);
        send_bits(8, 8'b0000_0000);
        send_bits(8, 8'hb2); send_bits(4, 1); send_bits(8, 8'b0000_1011); send_bits(4, 4'b0010);
        send_bits(8, 8'b0000_0000);
        // The mark's last bits do not count for a second mark, nor an empty length's.
        send_bits(8, 8'hb2); send_bits(4, 0); send_bits(6, 6'b110010); send_bits(4, 1);
        send_bits(8, 8'hff);
        // Nor is anything before a hunt taken for a 1: seven bits are no mark, after an empty frame,
        // after a frame, after a restart and after a reset.
        send_bits(8, 8'hb2); send_bits(4, 0); send_bits(7, 7'b0110010); send_bits(4, 1);
        send_bits(8, 8'hb2); send_bits(4, 1); send_bits(8, 8'hff); send_bits(7, 7'b0110010); send_bits(4, 1);
        cancel;
        send_bits(7, 7'b0110010); send_bits(4, 1);
        send_bits(3, 3'b111);
        rst = 1;
        cycle;
        rst = 0;
        send_bits(7, 7'b0110010); send_bits(4, 1);
        // False starts, and marks with one wrong bit.
        send_bits(11, 11'b101_1011_0010); send_bits(4, 1); send_bits(8, 8'h3c);
        send_bits(10, 10'b10_1011_0010); send_bits(4, 1); send_bits(8, 8'hc3);
        send_bits(14, 14'b101100_1011_0010); send_bits(4, 0);
        for (i = 0; i < 8; i = i + 1) begin
            send_bits(8, 8'hb2 ^ (8'h01 << i));
            send_bits(3, 0);
            cancel;
        end
        // Every length, some with gaps; 15 comes last.
        for (i = 0; i < 16; i = i + 1) begin
            gap = (i < 4) ? i : 0;
            send_bits(8, 8'hb2);
            send_bits(4, i);
            for (j = 0; j < i; j = j + 1) send_bits(8, draw() >> 9);
        end

        // Restarts: in a mark, at its last bit, in the length, in a byte, at a byte's last bit, right
        // after a byte.
        send_bits(5, 5'b10110); cancel; send_bits(3, 3'b010); send_bits(4, 1);
        cancel;
        send_bits(7, 7'b1011001);
        bit_valid = 1; bit_in = 0;
        cancel;
        bit_valid = 0;
        send_bits(4, 1); send_bits(8, 8'h11);
        cancel;
        send_bits(8, 8'hb2); send_bits(2, 1); cancel; send_bits(8, 8'hb2); send_bits(4, 1); send_bits(8, 8'h5e);
        send_bits(8, 8'hb2); send_bits(4, 3); send_bits(11, 11'h2b7); cancel; send_bits(13, 13'h1234);
        cancel;
        send_bits(8, 8'hb2); send_bits(4, 1); send_bits(7, 7'h55);
        bit_valid = 1; bit_in = 1;
        cancel;
        bit_valid = 0;
        idle(1);
        send_bits(8, 8'hb2); send_bits(4, 2); send_bits(8, 8'h9a); cancel; idle(2);
        send_bits(8, 8'hb2); send_bits(4, 2); send_bits(16, 16'h7e81);

        // Resets: not without an edge; after a byte; in a frame; together with restart.
        rst = 1;
        #2 check;
        rst = 0;
        rst = 1;
        idle(1);
        rst = 0;
        send_bits(8, 8'hb2); send_bits(4, 2); send_bits(9, 9'h1b5);
        rst = 1; restart = 1; bit_valid = 1;
        idle(1);
        rst = 0; restart = 0; bit_valid = 0;
        send_bits(7, 7'h2a);
        send_bits(8, 8'hb2); send_bits(4, 1); send_bits(8, 8'he7);

        // Random traffic: frames of random length and gaps among random bits, with rare restarts and
        // resets.
        for (i = 0; i < 24; i = i + 1) begin
            gap = ((draw() >> 8) % 4 == 0) ? 1 : 0;
            send_bits((draw() >> 8) % 12, draw());
            send_bits(8, 8'hb2);
            j = (draw() >> 8) % 4;
            send_bits(4, j);
            for (j = 8 * j; j > 0; j = j - 1) begin
                restart = (draw() >> 8) % 90 == 0;
                rst = (draw() >> 8) % 120 == 0;
                send(draw() >> 9);
                restart = 0;
                rst = 0;
            end
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
