module flag_fifo #(
    parameter DEPTH    = 8,
    parameter HEADROOM = 2,
    parameter RESERVE  = 1
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       wr_en,
    input  logic [7:0] wr_data,
    input  logic       rd_en,
    input  logic       peak_clear,
    output logic [7:0] rd_data,
    output logic       rd_valid,
    output logic       full,
    output logic       empty,
    output logic       almost_full,
    output logic       almost_empty,
    output logic [4:0] level,
    output logic [4:0] peak
);

    logic [7:0] store [0:DEPTH-1];
    logic [3:0] head, tail;
    logic [4:0] level_next;
    logic       put, get;

    assign full         = level == DEPTH;
    assign empty        = level == 5'd0;
    assign almost_full  = level >= DEPTH - HEADROOM;
    assign almost_empty = level <= RESERVE;
    assign put          = wr_en && !full;
    assign get          = rd_en && !empty;
    assign level_next   = level + {4'd0, put} - {4'd0, get};

    always_ff @(posedge clk) begin
        if (rst) begin
            head     <= 4'd0;
            tail     <= 4'd0;
            level    <= 5'd0;
            peak     <= 5'd0;
            rd_valid <= 1'b0;
            rd_data  <= 8'd0;
        end else begin
            level    <= level_next;
            rd_valid <= get;
            if (put)
                tail <= tail == DEPTH - 1 ? 4'd0 : tail + 4'd1;
            if (get) begin
                head    <= head == DEPTH - 1 ? 4'd0 : head + 4'd1;
                rd_data <= store[head];
            end
            if (peak_clear || level_next > peak)
                peak <= level_next;
        end
    end

    always_ff @(posedge clk) begin
        if (put)
            store[tail] <= wr_data;
    end

endmodule
