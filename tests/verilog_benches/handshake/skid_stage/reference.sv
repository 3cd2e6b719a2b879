module skid_stage (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       in_valid,
    output logic       in_ready,
    input  logic [7:0] in_data,
    output logic       out_valid,
    input  logic       out_ready,
    output logic [7:0] out_data,
    output logic [1:0] level
);

    logic [7:0] spare;          // the younger byte when two are held
    logic       take, give;

    assign in_ready  = level != 2'd2;
    assign out_valid = level != 2'd0;
    assign take      = in_valid && in_ready;
    assign give      = out_valid && out_ready;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n)
            level <= 2'd0;
        else if (take && !give)
            level <= level + 2'd1;
        else if (give && !take)
            level <= level - 2'd1;
    end

    always_ff @(posedge clk) begin
        if (give && level == 2'd2)
            out_data <= spare;
        else if (take && (give || level == 2'd0))
            out_data <= in_data;
        if (take)
            spare <= in_data;
    end

endmodule
