module slice_chain #(
    parameter WIDTH = 8,
    parameter DEPTH = 3
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             flush,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data,
    output logic [DEPTH-1:0] full
);

    logic [WIDTH*DEPTH-1:0] held;       // slice 0 is the first, at the low end
    logic [DEPTH:0]         room;       // room[k]: slice k can take a word; the last is the taker outside

    assign room[DEPTH] = out_ready;
    assign in_ready    = room[0] && !flush;
    assign out_valid   = full[DEPTH-1];
    assign out_data    = held[WIDTH*DEPTH-1 -: WIDTH];

    genvar k;
    generate
        for (k = 0; k < DEPTH; k = k + 1) begin : slice
            logic             comes;
            logic [WIDTH-1:0] word;

            assign room[k] = !full[k] || room[k+1];

            if (k == 0) begin : first
                assign comes = in_valid;
                assign word  = in_data;
            end else begin : other
                assign comes = full[k-1];
                assign word  = held[WIDTH*k-1 -: WIDTH];
            end

            always_ff @(posedge clk or negedge rst_n) begin
                if (!rst_n)
                    full[k] <= 1'b0;
                else if (flush)
                    full[k] <= 1'b0;
                else if (room[k])
                    full[k] <= comes;
            end

            always_ff @(posedge clk) begin
                if (room[k] && comes)
                    held[WIDTH*k +: WIDTH] <= word;
            end
        end
    endgenerate

endmodule
