// secded_fix: words are encoded, then disturbed by none, one, two or three flipped bits. With up to
// two flips the answer follows from the flips alone; with three the model looks for a valid word at
// distance one.
module tb;
    reg  [12:0] code;
    wire [7:0]  data;
    wire [3:0]  position;
    wire        corrected, uncorrectable;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed000b;

    integer     i, j, k;
    reg  [12:0] word;

    secded_fix dut (
        .code(code), .data(data), .position(position), .corrected(corrected), .uncorrectable(uncorrectable)
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

    function [12:0] encode(input [7:0] d);
        begin
            encode[3] = d[0]; encode[5] = d[1]; encode[6] = d[2]; encode[7] = d[3];
            encode[9] = d[4]; encode[10] = d[5]; encode[11] = d[6]; encode[12] = d[7];
            encode[1] = d[0] ^ d[1] ^ d[3] ^ d[4] ^ d[6];
            encode[2] = d[0] ^ d[2] ^ d[3] ^ d[5] ^ d[6];
            encode[4] = d[1] ^ d[2] ^ d[3] ^ d[7];
            encode[8] = d[4] ^ d[5] ^ d[6] ^ d[7];
            encode[0] = ^encode[12:1];
        end
    endfunction

    function [7:0] payload(input [12:0] c);
        payload = {c[12], c[11], c[10], c[9], c[7], c[6], c[5], c[3]};
    endfunction

    task verify(input [12:0] received, input [7:0] x_data, input [3:0] x_position, input x_corrected, input x_uncorrectable);
        begin
            code = received;
            #5;
            samples = samples + 1;
            if ({data, position, corrected, uncorrectable} !== {x_data, x_position, x_corrected, x_uncorrectable})
                mismatches = mismatches + 1;
            #5;
        end
    endtask

    task search(input [12:0] received);
        integer n, found;
        reg [12:0] near;
        begin
            found = -1;
            near = 0;
            for (n = 0; n < 13; n = n + 1)
                if (encode(payload(received ^ (13'h1 << n))) == (received ^ (13'h1 << n))) begin
                    found = n;
                    near = received ^ (13'h1 << n);
                end
            if (found >= 0) verify(received, payload(near), found, 1, 0);
            else verify(received, payload(received), 0, 0, 1);
        end
    endtask

    initial begin
        for (i = 0; i < 256; i = i + 1) verify(encode(i), i, 0, 0, 0);
        for (i = 0; i < 13; i = i + 1)
            for (j = 0; j < 12; j = j + 1) begin
                k = (j == 0) ? 0 : (j == 1) ? 255 : (draw() >> 8) & 255;
                verify(encode(k) ^ (13'h1 << i), k, i, 1, 0);
            end
        for (i = 0; i < 13; i = i + 1)
            for (j = i + 1; j < 13; j = j + 1) begin
                word = encode(draw() >> 8) ^ (13'h1 << i) ^ (13'h1 << j);
                verify(word, payload(word), 0, 0, 1);
                word = encode(draw() >> 8) ^ (13'h1 << i) ^ (13'h1 << j);
                verify(word, payload(word), 0, 0, 1);
            end
        for (i = 0; i < 60; i = i + 1) begin
            j = (draw() >> 8) % 11;
            k = j + 1 + (draw() >> 8) % (11 - j);
            search(encode(draw() >> 8) ^ (13'h1 << j) ^ (13'h1 << k) ^ 13'h1000);
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
