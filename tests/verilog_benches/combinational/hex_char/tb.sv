// hex_char: all 256 codes in order, then a quarter of them in a scattered order.
module tb;
    reg  [7:0] code;
    wire [1:0] kind;
    wire [7:0] folded;
    wire       is_hex;
    wire [3:0] value;

    integer    samples = 0;
    integer    mismatches = 0;

    integer    i;

    // Position in these strings is the numeric value; the strings are read from their left end.
    reg [8*16-1:0] small_digits = "0123456789abcdef";
    reg [8*26-1:0] small_letters = "abcdefghijklmnopqrstuvwxyz";
    reg [8*26-1:0] large_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    hex_char dut (.code(code), .kind(kind), .folded(folded), .is_hex(is_hex), .value(value));

    task try(input [7:0] c);
        integer n;
        reg [1:0] x_kind;
        reg [7:0] x_folded;
        reg       x_is_hex;
        reg [3:0] x_value;
        begin
            code = c;
            x_kind = 0;
            x_folded = c;
            x_is_hex = 0;
            x_value = 0;
            for (n = 0; n < 26 && c >= 65 && c < 128; n = n + 1) begin
                if (c == large_letters[8*(25-n) +: 8]) x_kind = 2;
                if (c == small_letters[8*(25-n) +: 8]) begin
                    x_kind = 2;
                    x_folded = large_letters[8*(25-n) +: 8];
                end
                if (n < 6 && x_kind == 2 && x_folded == large_letters[8*(25-n) +: 8]) begin
                    x_is_hex = 1;
                    x_value = 10 + n;
                end
            end
            for (n = 0; n < 10; n = n + 1)
                if (c == small_digits[8*(15-n) +: 8]) begin
                    x_kind = 1;
                    x_is_hex = 1;
                    x_value = n;
                end
            case (c)
                8'd32, 8'd9, 8'd10, 8'd11, 8'd12, 8'd13: x_kind = 3;
                default: ;
            endcase
            #5;
            samples = samples + 1;
            if ({kind, folded, is_hex, value} !== {x_kind, x_folded, x_is_hex, x_value})
                mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        for (i = 0; i < 256; i = i + 1) try(i);
        for (i = 0; i < 64; i = i + 1) try(i * 77 + 13);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
