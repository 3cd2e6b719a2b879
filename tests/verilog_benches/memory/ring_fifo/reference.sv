module ring_fifo (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       flush,
    input  logic       push,
    input  logic [7:0] push_data,
    input  logic       pop,
    output logic [7:0] front,
    output logic [2:0] count,
    output logic       empty,
    output logic       full,
    output logic       overflow,
    output logic       underflow
);

    localparam [2:0] DEPTH = 3'd6;

    logic [7:0] slots [0:5];
    logic [2:0] head, tail;     // slot of the oldest byte; slot for the next one
    logic       add, remove;

    assign empty  = count == 3'd0;
    assign full   = count == DEPTH;
    assign front  = empty ? 8'd0 : slots[head];
    assign add    = push && (!full || pop);
    assign remove = pop && !empty;

    function automatic [2:0] following(input [2:0] slot);
        following = slot == DEPTH - 3'd1 ? 3'd0 : slot + 3'd1;
    endfunction

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            head      <= 3'd0;
            tail      <= 3'd0;
            count     <= 3'd0;
            overflow  <= 1'b0;
            underflow <= 1'b0;
        end else if (flush) begin
            head      <= 3'd0;
            tail      <= 3'd0;
            count     <= 3'd0;
            overflow  <= 1'b0;
            underflow <= 1'b0;
        end else begin
            if (add)
                tail <= following(tail);
            if (remove)
                head <= following(head);
            if (add && !remove)
                count <= count + 3'd1;
            if (remove && !add)
                count <= count - 3'd1;
            if (push && !add)
                overflow <= 1'b1;
            if (pop && !remove)
                underflow <= 1'b1;
        end
    end

    always_ff @(posedge clk) begin
        if (add)
            slots[tail] <= push_data;
    end

endmodule
