module serial_divider (
    input  logic        clk,
    input  logic        rst,
    input  logic        start,
    input  logic [11:0] dividend,
    input  logic [7:0]  divisor,
    output logic        busy,
    output logic        done,
    output logic [11:0] quotient,
    output logic [7:0]  remainder,
    output logic        by_zero
);

    logic [3:0]  left;      // steps still to do
    logic [7:0]  den;
    logic [11:0] work;      // dividend bits leave at the top, quotient bits enter at the bottom
    logic [7:0]  part;

    logic [8:0]  widened;
    logic        fits;
    logic [7:0]  next_part;
    logic [11:0] next_work;

    assign widened   = {part, work[11]};
    assign fits      = widened >= {1'b0, den};
    assign next_part = fits ? widened[7:0] - den : widened[7:0];
    assign next_work = {work[10:0], fits};

    always_ff @(posedge clk) begin
        if (rst) begin
            busy      <= 1'b0;
            done      <= 1'b0;
            quotient  <= 12'd0;
            remainder <= 8'd0;
            by_zero   <= 1'b0;
            left      <= 4'd0;
        end else begin
            done <= 1'b0;
            if (busy) begin
                work <= next_work;
                part <= next_part;
                left <= left - 4'd1;
                if (left == 4'd1) begin
                    busy      <= 1'b0;
                    done      <= 1'b1;
                    by_zero   <= den == 8'd0;
                    quotient  <= den == 8'd0 ? 12'hfff : next_work;
                    remainder <= den == 8'd0 ? 8'd0 : next_part;
                end
            end else if (start) begin
                busy <= 1'b1;
                den  <= divisor;
                work <= dividend;
                part <= 8'd0;
                left <= divisor == 8'd0 ? 4'd1 : 4'd12;
            end
        end
    end

endmodule
