module sat_addsub (
    input  logic signed [7:0] a,
    input  logic signed [7:0] b,
    input  logic        [1:0] op,
    output logic signed [7:0] result,
    output logic              clipped,
    output logic              negative,
    output logic              zero
);

    logic [8:0] wide_a, wide_b, exact;

    assign wide_a = {a[7], a};
    assign wide_b = {b[7], b};

    always @* begin
        case (op)
            2'd0:    exact = wide_a + wide_b;
            2'd1:    exact = wide_a - wide_b;
            2'd2:    exact = wide_b - wide_a;
            default: exact = a < 0 ? 9'd0 - wide_a : wide_a;
        endcase
    end

    // The value fits in eight bits when the two top bits of the nine agree.
    assign clipped  = exact[8] != exact[7];
    assign result   = clipped ? {exact[8], {7{~exact[8]}}} : exact[7:0];
    assign negative = result < 0;
    assign zero     = result == 0;

endmodule
