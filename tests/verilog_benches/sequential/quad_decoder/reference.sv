module quad_decoder (
    input  logic              clk,
    input  logic              rst,
    input  logic              clear,
    input  logic              a,
    input  logic              b,
    output logic signed [7:0] position,
    output logic              forward,
    output logic              fault
);

    logic last_a, last_b, moved_a, moved_b, ahead;

    assign moved_a = a != last_a;
    assign moved_b = b != last_b;
    // The phases differ after every forward step of a, and are equal after every forward step of b.
    assign ahead   = moved_a ? a != b : a == b;

    always_ff @(posedge clk) begin
        last_a <= a;
        last_b <= b;
        if (rst) begin
            position <= 8'sd0;
            forward  <= 1'b1;
            fault    <= 1'b0;
        end else if (clear) begin
            position <= 8'sd0;
            fault    <= 1'b0;
        end else if (moved_a && moved_b) begin
            fault    <= 1'b1;
        end else if (moved_a || moved_b) begin
            position <= ahead ? position + 8'sd1 : position - 8'sd1;
            forward  <= ahead;
        end
    end

endmodule
