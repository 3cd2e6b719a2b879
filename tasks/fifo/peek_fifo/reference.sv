module peek_fifo #(
    parameter WIDTH = 8,
    parameter DEPTH = 4
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data,
    output logic [5:0]       stored
);

    logic [WIDTH-1:0] store [0:DEPTH-1];
    logic [3:0]       head, tail;
    logic [5:0]       waiting;      // words in the store, without the one at the output
    logic             put, fetch;

    assign in_ready = waiting != DEPTH;
    assign put      = in_valid && in_ready;
    assign fetch    = waiting != 6'd0 && (!out_valid || out_ready);
    assign stored   = waiting + {5'd0, out_valid};

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            head      <= 4'd0;
            tail      <= 4'd0;
            waiting   <= 6'd0;
            out_valid <= 1'b0;
            out_data  <= '0;
        end else begin
            waiting <= waiting + {5'd0, put} - {5'd0, fetch};
            if (put)
                tail <= tail == DEPTH - 1 ? 4'd0 : tail + 4'd1;
            if (fetch) begin
                head      <= head == DEPTH - 1 ? 4'd0 : head + 4'd1;
                out_data  <= store[head];
                out_valid <= 1'b1;
            end else if (out_ready) begin
                out_valid <= 1'b0;
            end
        end
    end

    always_ff @(posedge clk) begin
        if (put)
            store[tail] <= in_data;
    end

endmodule
