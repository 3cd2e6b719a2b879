module stall_mac #(
    parameter WIDTH = 8,
    parameter GUARD = 3
) (
    input  logic                           clk,
    input  logic                           rst_n,
    input  logic                           stall,
    input  logic                           in_valid,
    input  logic                           in_first,
    input  logic                           in_last,
    input  logic signed [WIDTH-1:0]        a,
    input  logic signed [WIDTH-1:0]        b,
    output logic                           out_valid,
    output logic signed [2*WIDTH+GUARD-1:0] sum,
    output logic                           saturated
);

    localparam ACC = 2 * WIDTH + GUARD;

    // Stage 1: operands. Stage 2: product. Stage 3: accumulator.
    logic                      valid1, first1, last1;
    logic signed [WIDTH-1:0]   a1, b1;
    logic                      valid2, first2, last2;
    logic signed [2*WIDTH-1:0] product2;

    logic signed [ACC:0]       base, total;
    logic                      over, top;

    assign base  = first2 ? 0 : sum;
    assign total = base + product2;
    assign top   = total[ACC];
    assign over  = top != total[ACC-1];

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            valid1    <= 1'b0;
            valid2    <= 1'b0;
            out_valid <= 1'b0;
            sum       <= '0;
            saturated <= 1'b0;
        end else if (!stall) begin
            valid1    <= in_valid;
            valid2    <= valid1;
            out_valid <= valid2 && last2;
            if (valid2) begin
                sum       <= over ? {top, {(ACC-1){!top}}} : total[ACC-1:0];
                saturated <= over || (saturated && !first2);
            end
        end
    end

    always_ff @(posedge clk) begin
        if (!stall) begin
            a1       <= a;
            b1       <= b;
            first1   <= in_first;
            last1    <= in_last;
            product2 <= a1 * b1;
            first2   <= first1;
            last2    <= last1;
        end
    end

endmodule
