module flag_alu #(
    parameter WIDTH = 8
) (
    input  logic [3:0]       op,
    input  logic [WIDTH-1:0] a,
    input  logic [WIDTH-1:0] b,
    input  logic             carry_in,
    output logic [WIDTH-1:0] y,
    output logic             carry,
    output logic             overflow,
    output logic             zero,
    output logic             negative,
    output logic             illegal
);

    logic [WIDTH-1:0] other;
    logic [WIDTH:0]   sum;
    logic             extra, adds, clash;
    logic             a_top, b_top;

    assign a_top = a[WIDTH-1];
    assign b_top = b[WIDTH-1];

    // Operations 0 to 3: add, add with carry, subtract, subtract with borrow.
    assign adds  = op < 4'd4;
    assign other = op[1] ? ~b : b;
    assign extra = op[0] ? carry_in : op[1];
    assign sum   = {1'b0, a} + {1'b0, other} + {{WIDTH{1'b0}}, extra};
    assign clash = (a_top == other[WIDTH-1]) && (a_top != sum[WIDTH-1]);

    always_comb begin
        carry   = 1'b0;
        illegal = 1'b0;
        case (op)
            4'd0, 4'd1, 4'd2, 4'd3: {carry, y} = sum;
            4'd4: y = a & b;
            4'd5: y = a | b;
            4'd6: y = a ^ b;
            4'd7: y = ~a;
            4'd8: {carry, y} = {a, 1'b0};
            4'd9: {y, carry} = {1'b0, a};
            4'd10: {y, carry} = {a_top, a};
            4'd11: {carry, y} = {a, carry_in};
            4'd12: {y, carry} = {carry_in, a};
            4'd13: y = a_top != b_top ? {{(WIDTH-1){1'b0}}, a_top} : {{(WIDTH-1){1'b0}}, a < b};
            default: begin
                y       = '0;
                illegal = 1'b1;
            end
        endcase
    end

    assign overflow = adds ? clash : op == 4'd8 && (a_top != y[WIDTH-1]);
    assign zero     = y == '0;
    assign negative = y[WIDTH-1];

endmodule
