module secded_fix (
    input  logic [12:0] code,
    output logic [7:0]  data,
    output logic [3:0]  position,
    output logic        corrected,
    output logic        uncorrectable
);

    logic [3:0]  syndrome;
    logic        odd;
    logic [12:0] fixed;

    assign syndrome[0] = ^(code & 13'b0_1010_1010_1010);
    assign syndrome[1] = ^(code & 13'b0_1100_1100_1100);
    assign syndrome[2] = ^(code & 13'b1_0000_1111_0000);
    assign syndrome[3] = ^(code & 13'b1_1111_0000_0000);
    assign odd         = ^code;

    assign corrected     = odd && syndrome <= 4'd12;
    assign uncorrectable = !corrected && (odd || syndrome != 4'd0);
    assign position      = corrected ? syndrome : 4'd0;
    assign fixed         = corrected ? code ^ (13'd1 << syndrome) : code;
    assign data          = {fixed[12:9], fixed[7:5], fixed[3]};

endmodule
