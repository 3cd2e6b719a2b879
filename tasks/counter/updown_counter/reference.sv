module updown_counter #(
    parameter WIDTH = 6
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             clear,
    input  logic             load,
    input  logic [WIDTH-1:0] load_value,
    input  logic             up,
    input  logic             down,
    input  logic [WIDTH-1:0] top,
    input  logic             hold_at_end,
    output logic [WIDTH-1:0] count,
    output logic             tc,
    output logic             wrapped
);

    logic going_up, going_down, at_end;

    assign going_up   = up && !down;
    assign going_down = down && !up;
    assign at_end     = going_up ? count >= top : count == '0;
    assign tc         = (going_up || going_down) && at_end && !clear && !load;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            count   <= '0;
            wrapped <= 1'b0;
        end else begin
            wrapped <= tc && !hold_at_end;
            if (clear)
                count <= '0;
            else if (load)
                count <= load_value;
            else if (going_up && !at_end)
                count <= count + 1'b1;
            else if (going_down && !at_end)
                count <= count - 1'b1;
            else if (tc && !hold_at_end)
                count <= going_up ? '0 : top;
        end
    end

endmodule
