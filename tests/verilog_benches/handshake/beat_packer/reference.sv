module beat_packer (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [7:0]  in_data,
    input  logic        in_last,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [31:0] out_data,
    output logic [3:0]  out_keep,
    output logic        out_last
);

    logic [1:0]  filled;        // bytes collected for the incomplete word
    logic [23:0] bytes;
    logic        take, complete;
    logic [31:0] word;

    assign in_ready = !out_valid || out_ready;
    assign take     = in_valid && in_ready;
    assign complete = in_last || filled == 2'd3;
    // Positions above the new byte are 0: bytes is cleared when a word begins.
    assign word     = {8'd0, bytes} | ({24'd0, in_data} << {filled, 3'b000});

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            out_valid <= 1'b0;
            filled    <= 2'd0;
            bytes     <= 24'd0;
        end else begin
            if (out_ready)
                out_valid <= 1'b0;
            if (take && complete) begin
                out_valid <= 1'b1;
                out_data  <= word;
                out_last  <= in_last;
                out_keep  <= 4'b1111 >> (2'd3 - filled);
                filled    <= 2'd0;
                bytes     <= 24'd0;
            end else if (take) begin
                filled <= filled + 2'd1;
                bytes  <= word[23:0];
            end
        end
    end

endmodule
