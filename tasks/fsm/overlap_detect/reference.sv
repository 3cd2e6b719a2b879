module overlap_detect (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       valid,
    input  logic       bit_in,
    input  logic       overlap,
    output logic       found,
    output logic [2:0] matched,
    output logic [5:0] hits
);

    // The pattern is 1 1 0 1 0 1; matched is how much of it has been seen.
    logic [2:0] next;

    assign found = valid && matched == 3'd5 && bit_in;

    always_comb begin
        case (matched)
            3'd0:    next = bit_in ? 3'd1 : 3'd0;
            3'd1:    next = bit_in ? 3'd2 : 3'd0;
            3'd2:    next = bit_in ? 3'd2 : 3'd3;
            3'd3:    next = bit_in ? 3'd4 : 3'd0;
            3'd4:    next = bit_in ? 3'd2 : 3'd5;
            default: next = bit_in && overlap ? 3'd1 : 3'd0;
        endcase
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            matched <= 3'd0;
            hits    <= 6'd0;
        end else if (valid) begin
            matched <= next;
            if (found)
                hits <= hits + 6'd1;
        end
    end

endmodule
