module round_mul (
    input  logic signed [7:0] a,
    input  logic signed [7:0] b,
    output logic signed [7:0] product,
    output logic              inexact,
    output logic              clipped
);

    logic signed [15:0] exact;
    logic [6:0] rest;
    logic [8:0] whole, rounded;
    logic       up;

    assign exact   = a * b;
    assign rest    = exact[6:0];
    assign whole   = exact[15:7];
    assign up      = rest > 7'd64 || (rest == 7'd64 && whole[0]);
    assign rounded = whole + {8'd0, up};
    assign clipped = rounded == 9'd128;
    assign product = clipped ? 8'sd127 : rounded[7:0];
    assign inexact = rest != 7'd0;

endmodule
