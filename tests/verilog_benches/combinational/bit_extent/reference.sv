module bit_extent (
    input  logic [15:0] field,
    output logic        empty,
    output logic [3:0]  low,
    output logic [3:0]  high,
    output logic [4:0]  span,
    output logic        solid
);

    logic [15:0] carried;

    // Adding the lowest set bit turns the lowest run into a carry; a word with one run keeps no
    // other bit.
    assign carried = field + (field & (~field + 16'd1));

    assign empty = field == 16'd0;
    assign span  = empty ? 5'd0 : {1'b0, high} - {1'b0, low} + 5'd1;
    assign solid = !empty && (carried & field) == 16'd0;

    always @* begin
        low  = 4'd0;
        high = 4'd0;
        for (int i = 0; i < 16; i = i + 1) begin
            if (field[i]) high = i[3:0];
            if (field[15 - i]) low = 4'd15 - i[3:0];
        end
    end

endmodule
