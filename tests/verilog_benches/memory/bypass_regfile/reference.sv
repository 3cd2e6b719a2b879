module bypass_regfile (
    input  logic        clk,
    input  logic        rst,
    input  logic        write,
    input  logic [2:0]  write_index,
    input  logic [15:0] write_data,
    input  logic [2:0]  index_a,
    input  logic [2:0]  index_b,
    output logic [15:0] value_a,
    output logic [15:0] value_b,
    output logic [7:0]  touched
);

    logic [15:0] regs [0:7];
    logic        accept;

    assign accept  = write && !rst && write_index != 3'd0;
    assign value_a = index_a == 3'd0 ? 16'd0 : accept && index_a == write_index ? write_data : regs[index_a];
    assign value_b = index_b == 3'd0 ? 16'd0 : accept && index_b == write_index ? write_data : regs[index_b];

    always_ff @(posedge clk) begin
        if (rst) begin
            for (int i = 0; i < 8; i = i + 1)
                regs[i] <= 16'd0;
            touched <= 8'd0;
        end else if (accept) begin
            regs[write_index]    <= write_data;
            touched[write_index] <= 1'b1;
        end
    end

endmodule
