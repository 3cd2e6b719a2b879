module moving_sum (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       flush,
    input  logic       valid,
    input  logic [7:0] sample,
    output logic [9:0] sum,
    output logic [7:0] highest,
    output logic       full
);

    logic [7:0] w0, w1, w2, w3;     // w0 is the newest; places not filled yet hold 0
    logic [2:0] held;
    logic [7:0] max01, max23;

    assign sum     = {2'd0, w0} + {2'd0, w1} + {2'd0, w2} + {2'd0, w3};
    assign max01   = w0 > w1 ? w0 : w1;
    assign max23   = w2 > w3 ? w2 : w3;
    assign highest = max01 > max23 ? max01 : max23;
    assign full    = held == 3'd4;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            {w0, w1, w2, w3} <= 32'd0;
            held <= 3'd0;
        end else if (flush) begin
            {w0, w1, w2, w3} <= {valid ? sample : 8'd0, 24'd0};
            held <= {2'd0, valid};
        end else if (valid) begin
            {w0, w1, w2, w3} <= {sample, w0, w1, w2};
            held <= full ? 3'd4 : held + 3'd1;
        end
    end

endmodule
