module gray_convert #(
    parameter WIDTH = 8
) (
    input  logic [WIDTH-1:0] value,
    input  logic             decode,
    output logic [WIDTH-1:0] result,
    output logic             odd
);

    logic [WIDTH-1:0] number;

    genvar i;
    generate
        for (i = 0; i < WIDTH; i = i + 1) begin : prefix
            assign number[i] = ^(value >> i);
        end
    endgenerate

    assign result = decode ? number : value ^ (value >> 1);
    assign odd    = decode ? number[0] : value[0];

endmodule
