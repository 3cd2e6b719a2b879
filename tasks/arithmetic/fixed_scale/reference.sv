module fixed_scale #(
    parameter WIDTH = 12,
    parameter FRAC = 7
) (
    input  logic signed [WIDTH-1:0] a,
    input  logic signed [WIDTH-1:0] b,
    input  logic [1:0]              mode,
    output logic signed [WIDTH-1:0] y,
    output logic                    sat,
    output logic                    inexact
);

    localparam [1:0] FLOOR = 2'd0, HALF_UP = 2'd1, HALF_EVEN = 2'd2;

    logic signed [2*WIDTH-1:0] product;
    logic signed [2*WIDTH-1:0] whole;
    logic        [FRAC-1:0]    part;
    logic                      half, above, odd, negative, round;
    logic signed [2*WIDTH-1:0] rounded;

    assign product = a * b;
    assign whole   = product >>> FRAC;
    assign part    = product[FRAC-1:0];
    assign half    = part[FRAC-1];
    assign above   = |(part << 1);          // more than the half bit alone
    assign inexact = |part;

    assign odd      = whole[0];
    assign negative = product[2*WIDTH-1];

    always_comb begin
        case (mode)
            FLOOR:     round = 1'b0;
            HALF_UP:   round = half;
            HALF_EVEN: round = half && (above || odd);
            default:   round = negative && inexact;     // towards zero
        endcase
    end

    assign rounded = round ? whole + 1 : whole;
    assign sat     = rounded[2*WIDTH-1:WIDTH-1] != {(WIDTH+1){rounded[2*WIDTH-1]}};

    // The lowest number is a one and zeros, the highest its inverse.
    assign y = sat ? {rounded[2*WIDTH-1], {(WIDTH-1){!rounded[2*WIDTH-1]}}} : rounded[WIDTH-1:0];

endmodule
