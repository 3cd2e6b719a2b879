module turn_arbiter (
    input  logic       clk,
    input  logic       rst,
    input  logic [3:0] req,
    output logic [3:0] grant,
    output logic [1:0] owner,
    output logic       fresh
);

    logic [1:0] age;            // cycles of the turn that are over
    logic [1:0] one, two, three, chosen;
    logic       keep;

    assign one    = owner + 2'd1;
    assign two    = owner + 2'd2;
    assign three  = owner + 2'd3;
    assign chosen = req[one] ? one : req[two] ? two : req[three] ? three : owner;
    assign keep   = (grant & req) != 4'd0 && age != 2'd3;

    always_ff @(posedge clk or posedge rst) begin
        if (rst) begin
            grant <= 4'd0;
            owner <= 2'd3;
            fresh <= 1'b0;
            age   <= 2'd0;
        end else if (keep) begin
            fresh <= 1'b0;
            age   <= age + 2'd1;
        end else begin
            grant <= req == 4'd0 ? 4'd0 : 4'd1 << chosen;
            owner <= chosen;
            fresh <= req != 4'd0;
            age   <= 2'd0;
        end
    end

endmodule
