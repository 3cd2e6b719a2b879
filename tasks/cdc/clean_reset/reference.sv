module clean_reset #(
    parameter STAGES = 2,
    parameter SETTLE = 5,
    parameter HOLD   = 6
) (
    input  logic       clk,
    input  logic       arst_n,
    input  logic       button,
    input  logic       kick,
    output logic       rst_n,
    output logic       pressed,
    output logic [1:0] cause
);

    logic [STAGES-1:0] chain;           // ones move in once arst_n is released
    logic              awake;
    logic              button_meta, button_seen;
    logic [4:0]        differs;         // edges in a row at which the button differed from its settled state
    logic [4:0]        left;            // edges until rst_n is released
    logic              turn;

    assign awake = chain[STAGES-1];
    assign turn  = button_seen != pressed && differs == SETTLE - 1;

    always_ff @(posedge clk or negedge arst_n) begin
        if (!arst_n) begin
            chain <= '0;
        end else begin
            chain <= {chain[STAGES-2:0], 1'b1};
        end
    end

    always_ff @(posedge clk or negedge arst_n) begin
        if (!arst_n) begin
            button_meta <= 1'b0;
            button_seen <= 1'b0;
            differs     <= 5'd0;
            pressed     <= 1'b0;
        end else begin
            button_meta <= button;
            button_seen <= button_meta;
            differs     <= button_seen != pressed && !turn ? differs + 5'd1 : 5'd0;
            if (turn)
                pressed <= button_seen;
        end
    end

    always_ff @(posedge clk or negedge arst_n) begin
        if (!arst_n) begin
            rst_n <= 1'b0;
            cause <= 2'd0;
            left  <= HOLD;
        end else if (awake) begin
            if (pressed || kick) begin
                rst_n <= 1'b0;
                left  <= HOLD;
                cause <= pressed ? 2'd2 : 2'd1;
            end else if (left != 5'd0) begin
                left <= left - 5'd1;
            end else begin
                rst_n <= 1'b1;
            end
        end
    end

endmodule
