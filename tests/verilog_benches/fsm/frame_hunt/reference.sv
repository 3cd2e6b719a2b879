module frame_hunt (
    input  logic       clk,
    input  logic       rst,
    input  logic       restart,
    input  logic       bit_valid,
    input  logic       bit_in,
    output logic       in_frame,
    output logic       byte_valid,
    output logic [7:0] byte_data,
    output logic       last
);

    localparam [7:0] MARK = 8'b1011_0010;

    logic [6:0] seen;       // the seven bits before bit_in
    logic [7:0] window;
    logic       sized;      // the length is known
    logic [2:0] count;      // bits taken of the length or of the current byte
    logic [3:0] left;       // bytes still to come

    assign window = {seen, bit_in};

    always_ff @(posedge clk) begin
        byte_valid <= 1'b0;
        last       <= 1'b0;
        if (rst || restart) begin
            in_frame <= 1'b0;
            seen     <= 7'd0;
            if (rst)
                byte_data <= 8'd0;
        end else if (bit_valid) begin
            seen <= window[6:0];
            if (!in_frame) begin
                if (window == MARK) begin
                    in_frame <= 1'b1;
                    sized    <= 1'b0;
                    count    <= 3'd0;
                end
            end else if (!sized) begin
                count <= count + 3'd1;
                left  <= window[3:0];
                if (count == 3'd3) begin
                    sized <= 1'b1;
                    count <= 3'd0;
                    if (window[3:0] == 4'd0) begin
                        in_frame <= 1'b0;
                        seen     <= 7'd0;
                    end
                end
            end else begin
                count <= count + 3'd1;
                if (count == 3'd7) begin
                    byte_valid <= 1'b1;
                    byte_data  <= window;
                    left       <= left - 4'd1;
                    if (left == 4'd1) begin
                        last     <= 1'b1;
                        in_frame <= 1'b0;
                        seen     <= 7'd0;
                    end
                end
            end
        end
    end

endmodule
