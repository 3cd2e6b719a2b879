module wrap_counter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       load,
    input  logic [7:0] load_value,
    input  logic       enable,
    input  logic       down,
    input  logic [7:0] limit,
    output logic [7:0] count,
    output logic       wrapped
);

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            count   <= 8'd0;
            wrapped <= 1'b0;
        end else begin
            wrapped <= 1'b0;
            if (load) begin
                count <= load_value > limit ? limit : load_value;
            end else if (enable && !down) begin
                if (count < limit) begin
                    count <= count + 8'd1;
                end else begin
                    count   <= 8'd0;
                    wrapped <= 1'b1;
                end
            end else if (enable) begin
                if (count == 8'd0) begin
                    count   <= limit;
                    wrapped <= 1'b1;
                end else if (count > limit) begin
                    count <= limit;
                end else begin
                    count <= count - 8'd1;
                end
            end
        end
    end

endmodule
