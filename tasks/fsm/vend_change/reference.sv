module vend_change (
    input  logic       clk,
    input  logic       rst,
    input  logic [2:0] coin,
    input  logic       cancel,
    input  logic       tray_free,
    output logic [3:0] credit,
    output logic       accept,
    output logic       vend,
    output logic       give_back,
    output logic       reject
);

    // One-hot: collecting, delivering, returning. Any other value goes back to collecting without money.
    localparam [2:0] COLLECT = 3'b001, DELIVER = 3'b010, RETURN = 3'b100;

    logic [2:0] state;
    logic [2:0] worth;
    logic       odd_coin;

    assign worth    = coin == 3'b001 ? 3'd1 : coin == 3'b010 ? 3'd2 : coin == 3'b100 ? 3'd5 : 3'd0;
    assign odd_coin = coin != 3'b000 && worth == 3'd0;

    assign accept    = state == COLLECT;
    assign vend      = state == DELIVER;
    assign give_back = state == RETURN;

    always_ff @(posedge clk) begin
        reject <= 1'b0;
        if (rst) begin
            state  <= COLLECT;
            credit <= 4'd0;
        end else begin
            case (state)
                COLLECT: begin
                    if (cancel) begin
                        reject <= coin != 3'b000;
                        if (credit != 4'd0)
                            state <= RETURN;
                    end else if (odd_coin) begin
                        reject <= 1'b1;
                    end else begin
                        credit <= credit + {1'b0, worth};
                        if (credit + {1'b0, worth} >= 4'd7)
                            state <= DELIVER;
                    end
                end
                DELIVER: begin
                    reject <= coin != 3'b000;
                    if (tray_free) begin
                        credit <= credit - 4'd7;
                        state  <= credit == 4'd7 ? COLLECT : RETURN;
                    end
                end
                RETURN: begin
                    reject <= coin != 3'b000;
                    credit <= credit - 4'd1;
                    if (credit == 4'd1)
                        state <= COLLECT;
                end
                default: begin
                    state  <= COLLECT;
                    credit <= 4'd0;
                end
            endcase
        end
    end

endmodule
