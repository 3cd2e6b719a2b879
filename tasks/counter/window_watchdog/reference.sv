module window_watchdog (
    input  logic       clk,
    input  logic       rst,
    input  logic       enable,
    input  logic       kick,
    input  logic [7:0] open_at,
    input  logic [7:0] limit,
    input  logic       ack,
    output logic [7:0] elapsed,
    output logic       in_window,
    output logic       early,
    output logic       late,
    output logic       bite
);

    logic running;

    assign in_window = running && elapsed >= open_at;
    assign bite      = early || late;

    always_ff @(posedge clk) begin
        if (rst) begin
            running <= 1'b0;
            elapsed <= 8'd0;
            early   <= 1'b0;
            late    <= 1'b0;
        end else begin
            if (ack) begin
                early <= 1'b0;
                late  <= 1'b0;
            end
            if (bite || !enable) begin
                running <= 1'b0;
                elapsed <= 8'd0;
            end else if (!running) begin
                running <= 1'b1;
                elapsed <= 8'd0;
            end else if (kick) begin
                elapsed <= 8'd0;
                if (elapsed < open_at) begin
                    early   <= 1'b1;
                    running <= 1'b0;
                end
            end else if (elapsed >= limit) begin
                late    <= 1'b1;
                running <= 1'b0;
                elapsed <= 8'd0;
            end else begin
                elapsed <= elapsed + 8'd1;
            end
        end
    end

endmodule
