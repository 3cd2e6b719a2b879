module thermo_decode (
    input  logic [14:0] therm,
    output logic [14:0] repaired,
    output logic [3:0]  level,
    output logic        bubble
);

    logic [14:0] below, above;

    assign below    = {therm[13:0], 1'b1};
    assign above    = {1'b0, therm[14:1]};
    assign repaired = (therm & below) | (therm & above) | (below & above);
    // A clean code plus one has no bit in common with the code itself.
    assign bubble   = (therm & (therm + 15'd1)) != 15'd0;

    always @* begin
        level = 4'd0;
        for (int i = 0; i < 15; i = i + 1)
            level = level + {3'd0, repaired[i]};
    end

endmodule
