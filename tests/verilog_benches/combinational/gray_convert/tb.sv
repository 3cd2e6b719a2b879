// gray_convert: every word in both directions at the default width, and samples of width 10 beside
// it. The model is a table built by the rule "write the list down again in reverse order and set
// the next bit", not by exclusive-or identities.
module tb;
    reg  [7:0]  value;
    reg  [9:0]  value_10;
    reg         decode;
    wire [7:0]  result;
    wire [9:0]  result_10;
    wire        odd, odd_10;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0005;

    reg  [9:0]  gray [0:1023];      // number -> code
    reg  [9:0]  plain [0:1023];     // code -> number
    reg  [7:0]  x;
    reg  [9:0]  x_10;
    reg         x_odd, x_odd_10;
    integer     i, size;

    gray_convert dut (.value(value), .decode(decode), .result(result), .odd(odd));
    gray_convert #(.WIDTH(10)) dut_10 (.value(value_10), .decode(decode), .result(result_10), .odd(odd_10));

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    task try(input [9:0] word, input back);
        begin
            value = word;
            value_10 = word * 10'd341 + 10'd77;
            decode = back;
            x = back ? plain[value] : gray[value];
            x_10 = back ? plain[value_10] : gray[value_10];
            x_odd = back ? plain[value] % 2 : value % 2;
            x_odd_10 = back ? plain[value_10] % 2 : value_10 % 2;
            #5;
            samples = samples + 1;
            if ({result, odd, result_10, odd_10} !== {x, x_odd, x_10, x_odd_10})
                mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        gray[0] = 0;
        for (size = 1; size < 1024; size = size * 2)
            for (i = 0; i < size; i = i + 1)
                gray[size + i] = gray[size - 1 - i] + size;
        for (i = 0; i < 1024; i = i + 1) plain[gray[i]] = i;

        for (i = 0; i < 256; i = i + 1) try(i, 0);
        for (i = 0; i < 256; i = i + 1) try(i, 1);
        // The direction alone changes, then word and direction together.
        for (i = 0; i < 32; i = i + 1) begin
            try(i * 37, 0);
            try(i * 37, 1);
        end
        for (i = 0; i < 200; i = i + 1) try(draw() >> 8, draw() >> 12);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
