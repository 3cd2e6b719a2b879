module pulse_stretch (
    input  logic       clk,
    input  logic       rst,
    input  logic       trigger,
    input  logic       retrigger,
    input  logic [3:0] length,
    output logic       pulse,
    output logic [3:0] left,
    output logic       missed
);

    logic accept;

    assign pulse  = left != 4'd0;
    assign accept = trigger && (retrigger || !pulse);

    always_ff @(posedge clk) begin
        if (rst) begin
            left   <= 4'd0;
            missed <= 1'b0;
        end else begin
            missed <= trigger && !accept;
            if (accept)
                left <= length;
            else if (pulse)
                left <= left - 4'd1;
        end
    end

endmodule
