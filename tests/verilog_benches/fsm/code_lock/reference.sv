module code_lock (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       key_valid,
    input  logic [3:0] key,
    input  logic       relock,
    output logic       unlocked,
    output logic       alarm,
    output logic [1:0] entered,
    output logic [1:0] failures
);

    localparam [15:0] CODE = 16'h2725;
    localparam [4:0]  OPEN_TIME = 5'd8;
    localparam [4:0]  ALARM_TIME = 5'd16;

    logic [11:0] digits;
    logic [4:0]  left;      // cycles for which unlocked or alarm stays, the current one included

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            unlocked <= 1'b0;
            alarm    <= 1'b0;
            entered  <= 2'd0;
            failures <= 2'd0;
            digits   <= 12'd0;
            left     <= 5'd0;
        end else if (alarm) begin
            left <= left - 5'd1;
            if (left == 5'd1) begin
                alarm    <= 1'b0;
                failures <= 2'd0;
            end
        end else if (unlocked) begin
            left <= left - 5'd1;
            if (relock || left == 5'd1)
                unlocked <= 1'b0;
        end else if (key_valid) begin
            if (key > 4'd9) begin
                entered <= 2'd0;
            end else begin
                entered <= entered + 2'd1;
                digits  <= {digits[7:0], key};
                if (entered == 2'd3) begin
                    if ({digits, key} == CODE) begin
                        unlocked <= 1'b1;
                        failures <= 2'd0;
                        left     <= OPEN_TIME;
                    end else begin
                        failures <= failures + 2'd1;
                        if (failures == 2'd2) begin
                            alarm <= 1'b1;
                            left  <= ALARM_TIME;
                        end
                    end
                end
            end
        end
    end

endmodule
