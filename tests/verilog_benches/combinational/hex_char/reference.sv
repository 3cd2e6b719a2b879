module hex_char (
    input  logic [7:0] code,
    output logic [1:0] kind,
    output logic [7:0] folded,
    output logic       is_hex,
    output logic [3:0] value
);

    logic digit, lower, letter, space, hex_letter;

    assign digit      = code >= 8'h30 && code <= 8'h39;
    assign lower      = code >= 8'h61 && code <= 8'h7a;
    assign folded     = lower ? code - 8'h20 : code;
    assign letter     = folded >= 8'h41 && folded <= 8'h5a;
    assign space      = code == 8'h20 || (code >= 8'h09 && code <= 8'h0d);
    assign hex_letter = folded >= 8'h41 && folded <= 8'h46;

    assign kind   = digit ? 2'd1 : letter ? 2'd2 : space ? 2'd3 : 2'd0;
    assign is_hex = digit || hex_letter;
    assign value  = digit ? code[3:0] : hex_letter ? code[3:0] + 4'd9 : 4'd0;

endmodule
