module crc_words (
    input  logic        clk,
    input  logic        rst,
    input  logic        configure,
    input  logic [11:0] new_poly,
    input  logic [11:0] new_init,
    input  logic [11:0] new_mask,
    input  logic        reflect,
    input  logic        in_valid,
    input  logic        in_first,
    input  logic [7:0] in_word,
    output logic [11:0] crc,
    output logic        match
);

    logic [11:0] poly, init, mask;
    logic        swap;
    logic [11:0] state, next;
    integer      k;

    function [11:0] after_byte(input [11:0] start, input [7:0] word, input lsb_first, input [11:0] divisor);
        integer n;
        begin
            after_byte = start;
            for (n = 0; n < 8; n = n + 1) begin
                if (after_byte[11] != (lsb_first ? word[n] : word[7-n]))
                    after_byte = {after_byte[10:0], 1'b0} ^ divisor;
                else
                    after_byte = {after_byte[10:0], 1'b0};
            end
        end
    endfunction

    assign next = after_byte(in_first ? init : state, in_word, swap, poly);

    always_ff @(posedge clk) begin
        if (rst) begin
            poly  <= 12'h80f;
            init  <= '0;
            mask  <= '0;
            swap  <= 1'b0;
            state <= '0;
        end else begin
            if (configure) begin
                poly  <= new_poly;
                init  <= new_init;
                mask  <= new_mask;
                swap  <= reflect;
                state <= new_init;
            end else if (in_valid) begin
                state <= next;
            end
        end
    end

    always_comb begin
        for (k = 0; k < 12; k = k + 1)
            crc[k] = (swap ? state[11-k] : state[k]) ^ mask[k];
    end

    assign match = state == '0;

endmodule
