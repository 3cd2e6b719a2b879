module tank_pump (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       low_mark,
    input  logic       high_mark,
    input  logic       acknowledge,
    output logic       pump,
    output logic       alarm,
    output logic [1:0] cause
);

    localparam [4:0] LIMIT = 5'd20;

    logic [4:0] edges;      // rising edges since the pump was switched on
    logic       contradiction;

    assign contradiction = high_mark && !low_mark;

    always_ff @(posedge clk) begin
        edges <= edges + 5'd1;
        if (!rst_n) begin
            pump  <= 1'b0;
            alarm <= 1'b0;
            cause <= 2'd0;
        end else if (alarm) begin
            if (acknowledge && !contradiction) begin
                alarm <= 1'b0;
                cause <= 2'd0;
            end
        end else if (contradiction) begin
            pump  <= 1'b0;
            alarm <= 1'b1;
            cause <= 2'd1;
        end else if (pump) begin
            if (high_mark) begin
                pump <= 1'b0;
            end else if (edges == LIMIT) begin
                pump  <= 1'b0;
                alarm <= 1'b1;
                cause <= 2'd2;
            end
        end else if (!low_mark) begin
            pump  <= 1'b1;
            edges <= 5'd1;
        end
    end

endmodule
