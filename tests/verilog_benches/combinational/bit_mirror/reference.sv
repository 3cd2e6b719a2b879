module bit_mirror (
    input  logic [31:0] data,
    input  logic [4:0]  swap,
    input  logic        spread,
    output logic [31:0] result
);

    logic [31:0] keep, s0, s1, s2, s3;

    assign keep = {32{spread}};

    assign s0 = swap[0] ? (((data & 32'h5555_5555) << 1) | ((data >> 1) & 32'h5555_5555) | (data & keep)) : data;
    assign s1 = swap[1] ? (((s0 & 32'h3333_3333) << 2) | ((s0 >> 2) & 32'h3333_3333) | (s0 & keep)) : s0;
    assign s2 = swap[2] ? (((s1 & 32'h0f0f_0f0f) << 4) | ((s1 >> 4) & 32'h0f0f_0f0f) | (s1 & keep)) : s1;
    assign s3 = swap[3] ? (((s2 & 32'h00ff_00ff) << 8) | ((s2 >> 8) & 32'h00ff_00ff) | (s2 & keep)) : s2;
    assign result = swap[4] ? ({s3[15:0], s3[31:16]} | (s3 & keep)) : s3;

endmodule
