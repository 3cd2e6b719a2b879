module width_fifo #(
    parameter LANES = 4,
    parameter WORDS = 4
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               in_valid,
    output logic               in_ready,
    input  logic [8*LANES-1:0] in_data,
    input  logic [2:0]         in_count,
    input  logic               in_last,
    output logic               out_valid,
    input  logic               out_ready,
    output logic [7:0]         out_data,
    output logic               out_last,
    output logic [5:0]         bytes
);

    logic [8*LANES-1:0] words  [0:WORDS-1];
    logic [2:0]         counts [0:WORDS-1];
    logic               lasts  [0:WORDS-1];
    logic [2:0]         head, tail;
    logic [3:0]         used;
    logic [2:0]         lane;           // bytes of the oldest word that are gone
    logic [2:0]         count;
    logic [8*LANES-1:0] front;
    logic               put, give, final_byte;

    assign count      = in_count > LANES ? LANES : in_count;
    assign in_ready   = used != WORDS;
    assign out_valid  = used != 4'd0;
    assign put        = in_valid && in_ready && in_count != 3'd0;
    assign give       = out_valid && out_ready;
    assign final_byte = lane + 3'd1 == counts[head];
    assign front      = words[head];
    assign out_data   = front[8*lane +: 8];
    assign out_last   = lasts[head] && final_byte;

    always_ff @(posedge clk) begin
        if (rst) begin
            head  <= 3'd0;
            tail  <= 3'd0;
            used  <= 4'd0;
            lane  <= 3'd0;
            bytes <= 6'd0;
        end else begin
            used  <= used + {3'd0, put} - {3'd0, give && final_byte};
            bytes <= bytes + (put ? {3'd0, count} : 6'd0) - {5'd0, give};
            if (put)
                tail <= tail == WORDS - 1 ? 3'd0 : tail + 3'd1;
            if (give) begin
                lane <= final_byte ? 3'd0 : lane + 3'd1;
                if (final_byte)
                    head <= head == WORDS - 1 ? 3'd0 : head + 3'd1;
            end
        end
    end

    always_ff @(posedge clk) begin
        if (put) begin
            words[tail]  <= in_data;
            counts[tail] <= count;
            lasts[tail]  <= in_last;
        end
    end

endmodule
