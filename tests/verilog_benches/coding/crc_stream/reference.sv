module crc_stream (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       start,
    input  logic       valid,
    input  logic [7:0] data,
    output logic [7:0] crc,
    output logic       match,
    output logic [7:0] length
);

    logic [7:0] register, prior, length_before;

    function automatic [7:0] absorb(input [7:0] from, input [7:0] what);
        absorb = from ^ what;
        for (int i = 0; i < 8; i = i + 1)
            absorb = {absorb[6:0], 1'b0} ^ (absorb[7] ? 8'h2f : 8'h00);
    endfunction

    assign crc           = ~register;
    assign prior         = start ? 8'hff : register;
    assign length_before = start ? 8'd0 : length;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            register <= 8'hff;
            match    <= 1'b0;
            length   <= 8'd0;
        end else if (valid) begin
            register <= absorb(prior, data);
            match    <= data == ~prior;
            length   <= length_before == 8'd255 ? 8'd255 : length_before + 8'd1;
        end else if (start) begin
            register <= 8'hff;
            match    <= 1'b0;
            length   <= 8'd0;
        end
    end

endmodule
