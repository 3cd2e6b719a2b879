module word_cross #(
    parameter WIDTH = 8
) (
    input  logic             src_clk,
    input  logic             src_rst_n,
    input  logic             src_valid,
    output logic             src_ready,
    input  logic [WIDTH-1:0] src_data,
    input  logic             dst_clk,
    input  logic             dst_rst_n,
    output logic             dst_valid,
    input  logic             dst_ready,
    output logic [WIDTH-1:0] dst_data,
    output logic             req,
    output logic             ack
);

    logic [WIDTH-1:0] held;                     // stable from the request to the end of the handshake
    logic             ack_meta, ack_seen;
    logic             req_meta, req_seen;

    assign src_ready = !req && !ack_seen;

    always_ff @(posedge src_clk or negedge src_rst_n) begin
        if (!src_rst_n) begin
            req      <= 1'b0;
            ack_meta <= 1'b0;
            ack_seen <= 1'b0;
            held     <= '0;
        end else begin
            ack_meta <= ack;
            ack_seen <= ack_meta;
            if (src_ready && src_valid) begin
                held <= src_data;
                req  <= 1'b1;
            end else if (ack_seen) begin
                req <= 1'b0;
            end
        end
    end

    always_ff @(posedge dst_clk or negedge dst_rst_n) begin
        if (!dst_rst_n) begin
            ack       <= 1'b0;
            req_meta  <= 1'b0;
            req_seen  <= 1'b0;
            dst_valid <= 1'b0;
            dst_data  <= '0;
        end else begin
            req_meta <= req;
            req_seen <= req_meta;
            if (dst_valid && dst_ready)
                dst_valid <= 1'b0;
            if (req_seen && !ack && (!dst_valid || dst_ready)) begin
                dst_data  <= held;
                dst_valid <= 1'b1;
                ack       <= 1'b1;
            end else if (!req_seen) begin
                ack <= 1'b0;
            end
        end
    end

endmodule
