module shift_unit (
    input  logic       clk,
    input  logic       rst,
    input  logic [2:0] mode,
    input  logic [7:0] data,
    input  logic       serial,
    output logic [7:0] q,
    output logic       carry,
    output logic       parity
);

    assign parity = ^q;

    always_ff @(posedge clk or posedge rst) begin
        if (rst) begin
            q     <= 8'd0;
            carry <= 1'b0;
        end else begin
            case (mode)
                3'd1: begin
                    q     <= data;
                    carry <= 1'b0;
                end
                3'd2: {carry, q} <= {q, serial};
                3'd3: {q, carry} <= {serial, q};
                3'd4: {carry, q} <= {q, q[7]};
                3'd5: {q, carry} <= {q[0], q};
                3'd6: {q, carry} <= {q[7], q};
                3'd7: {carry, q} <= {q, carry};
                default: ;
            endcase
        end
    end

endmodule
