module uart_listen #(
    parameter OVERSAMPLE = 4
) (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       rx,
    input  logic       take,
    output logic       valid,
    output logic [7:0] data,
    output logic       frame_error,
    output logic       overrun,
    output logic       busy
);

    localparam [3:0] MIDDLE = OVERSAMPLE / 2;

    logic       rx_meta, seen;
    logic [3:0] place;          // number of the sample within its bit
    logic [3:0] number;         // 0 start bit, 1 to 8 data, 9 stop bit
    logic [7:0] bits;
    logic       first, second;  // the two samples before the deciding one
    logic       recover;        // after a framing error: wait for the idle level
    logic       vote, decide;

    assign decide = busy && place == MIDDLE + 4'd1;
    assign vote   = (first && second) || (first && seen) || (second && seen);

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            rx_meta     <= 1'b1;
            seen        <= 1'b1;
            place       <= 4'd0;
            number      <= 4'd0;
            bits        <= 8'd0;
            first       <= 1'b0;
            second      <= 1'b0;
            recover     <= 1'b0;
            busy        <= 1'b0;
            valid       <= 1'b0;
            data        <= 8'd0;
            frame_error <= 1'b0;
            overrun     <= 1'b0;
        end else begin
            rx_meta     <= rx;
            seen        <= rx_meta;
            first       <= second;
            second      <= seen;
            frame_error <= 1'b0;
            overrun     <= 1'b0;
            if (take)
                valid <= 1'b0;
            if (recover) begin
                if (seen)
                    recover <= 1'b0;
            end else if (!busy) begin
                if (!seen) begin
                    busy   <= 1'b1;
                    place  <= 4'd1;
                    number <= 4'd0;
                end
            end else begin
                place <= place == OVERSAMPLE - 1 ? 4'd0 : place + 4'd1;
                if (decide) begin
                    number <= number + 4'd1;
                    if (number == 4'd0) begin
                        busy <= !vote;
                    end else if (number != 4'd9) begin
                        bits <= {vote, bits[7:1]};
                    end else begin
                        busy <= 1'b0;
                        if (vote) begin
                            valid   <= 1'b1;
                            data    <= bits;
                            overrun <= valid && !take;
                        end else begin
                            frame_error <= 1'b1;
                            recover     <= 1'b1;
                        end
                    end
                end
            end
        end
    end

endmodule
