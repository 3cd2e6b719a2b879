module uart_send #(
    parameter DIVISOR = 4
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       valid,
    output logic       ready,
    input  logic [7:0] data,
    input  logic [1:0] parity,
    input  logic       two_stop,
    output logic       tx,
    output logic       busy
);

    logic [9:0] rest;           // what follows the bit on the line, ones behind it
    logic [3:0] bits;           // bits left, the one on the line included
    logic [4:0] ticks;          // cycles left of the bit on the line, less one
    logic       last_tick;
    logic       parity_bit;

    assign busy       = bits != 4'd0;
    assign last_tick  = ticks == 5'd0;
    assign ready      = !busy || (bits == 4'd1 && last_tick);
    assign parity_bit = (^data) ^ parity[0];

    always_ff @(posedge clk) begin
        if (rst) begin
            tx    <= 1'b1;
            rest  <= '1;
            bits  <= 4'd0;
            ticks <= 5'd0;
        end else if (valid && ready) begin
            tx    <= 1'b0;
            rest  <= {1'b1, parity_bit || !parity[1], data};
            bits  <= 4'd10 + {3'd0, parity[1]} + {3'd0, two_stop};
            ticks <= DIVISOR - 1;
        end else if (busy) begin
            if (last_tick) begin
                tx    <= rest[0];
                rest  <= {1'b1, rest[9:1]};
                bits  <= bits - 4'd1;
                ticks <= DIVISOR - 1;
            end else begin
                ticks <= ticks - 5'd1;
            end
        end
    end

endmodule
