module byte_lane_ram (
    input  logic        clk,
    input  logic        enable,
    input  logic [3:0]  lanes,
    input  logic [4:0]  address,
    input  logic [31:0] write_data,
    output logic [31:0] read_data
);

    logic [31:0] words [0:31];
    logic [31:0] mask, merged;

    assign mask   = {{8{lanes[3]}}, {8{lanes[2]}}, {8{lanes[1]}}, {8{lanes[0]}}};
    assign merged = (words[address] & ~mask) | (write_data & mask);

    always_ff @(posedge clk) begin
        if (enable) begin
            words[address] <= merged;
            read_data      <= merged;
        end
    end

endmodule
