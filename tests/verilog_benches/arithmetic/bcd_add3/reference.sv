module bcd_add3 (
    input  logic [11:0] a,
    input  logic [11:0] b,
    input  logic        carry_in,
    output logic [11:0] sum,
    output logic        carry_out,
    output logic        invalid
);

    logic [3:0]  carry;
    logic [11:0] digits;
    logic [2:0]  bad;

    assign carry[0] = carry_in;

    genvar i;
    generate
        for (i = 0; i < 3; i = i + 1) begin : digit
            logic [4:0] total;
            assign total = {1'b0, a[4*i +: 4]} + {1'b0, b[4*i +: 4]} + {4'd0, carry[i]};
            assign carry[i+1] = total > 5'd9;
            assign digits[4*i +: 4] = carry[i+1] ? total[3:0] + 4'd6 : total[3:0];
            assign bad[i] = a[4*i +: 4] > 4'd9 || b[4*i +: 4] > 4'd9;
        end
    endgenerate

    assign invalid   = |bad;
    assign sum       = invalid ? 12'd0 : digits;
    assign carry_out = !invalid && carry[3];

endmodule
