module hazard_pipe (
    input  logic       clk,
    input  logic       rst,
    input  logic       in_valid,
    output logic       in_ready,
    input  logic [1:0] in_op,
    input  logic [1:0] in_dst,
    input  logic [1:0] in_src,
    input  logic [1:0] in_alt,
    input  logic [7:0] in_imm,
    output logic       mem_read,
    output logic [7:0] mem_addr,
    input  logic [7:0] mem_data,
    output logic       wb_valid,
    output logic [1:0] wb_dst,
    output logic [7:0] wb_value
);

    localparam [1:0] ADD = 2'd0, SUB = 2'd1, SET = 2'd2, LOAD = 2'd3;

    // Decode stage.
    logic       d_valid;
    logic [1:0] d_op, d_dst, d_src, d_alt;
    logic [7:0] d_imm;
    // Execute stage.
    logic       x_valid;
    logic [1:0] x_op, x_dst;
    logic [7:0] x_a, x_b;
    // Write-back stage.
    logic       w_load;
    logic [7:0] w_result;

    logic [7:0] regs [0:3];

    logic       uses_src, uses_alt, wait_load;
    logic [7:0] x_result, a, b;

    assign x_result = x_op == SUB ? x_a - x_b : x_a + x_b;
    assign mem_read = x_valid && x_op == LOAD;
    assign mem_addr = x_result;
    assign wb_value = w_load ? mem_data : w_result;

    assign uses_src  = d_op != SET;
    assign uses_alt  = d_op == ADD || d_op == SUB;
    assign wait_load = d_valid && mem_read && ((uses_src && d_src == x_dst) || (uses_alt && d_alt == x_dst));
    assign in_ready  = !wait_load;

    // Operands, the youngest older result first.
    always_comb begin
        if (!uses_src)
            a = 8'd0;
        else if (x_valid && x_dst == d_src)
            a = x_result;
        else if (wb_valid && wb_dst == d_src)
            a = wb_value;
        else
            a = regs[d_src];

        if (!uses_alt)
            b = d_imm;
        else if (x_valid && x_dst == d_alt)
            b = x_result;
        else if (wb_valid && wb_dst == d_alt)
            b = wb_value;
        else
            b = regs[d_alt];
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            d_valid  <= 1'b0;
            x_valid  <= 1'b0;
            wb_valid <= 1'b0;
            regs[0]  <= 8'd0;
            regs[1]  <= 8'd0;
            regs[2]  <= 8'd0;
            regs[3]  <= 8'd0;
        end else begin
            if (in_ready) begin
                d_valid <= in_valid;
                d_op    <= in_op;
                d_dst   <= in_dst;
                d_src   <= in_src;
                d_alt   <= in_alt;
                d_imm   <= in_imm;
            end
            x_valid  <= d_valid && !wait_load;
            x_op     <= d_op;
            x_dst    <= d_dst;
            x_a      <= a;
            x_b      <= b;
            wb_valid <= x_valid;
            wb_dst   <= x_dst;
            w_load   <= x_op == LOAD;
            w_result <= x_result;
            if (wb_valid)
                regs[wb_dst] <= wb_value;
        end
    end

endmodule
