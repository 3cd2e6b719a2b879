module lock_arbiter #(
    parameter N     = 4,
    parameter LIMIT = 5
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [N-1:0] req,
    input  logic [N-1:0] lock,
    input  logic         accept,
    output logic [N-1:0] grant,
    output logic [2:0]   last,
    output logic         held
);

    logic [3:0] run;                    // transfers in a row under the present lock
    logic [2:0] winner;
    logic       found;
    logic [3:0] place;
    integer     k;

    // The first requester behind the last one; under a lock only the last one counts.
    always_comb begin
        winner = last;
        found  = 1'b0;
        place  = 4'd0;
        if (held) begin
            found = req[last];
        end else begin
            for (k = 0; k < N; k = k + 1) begin
                place = last + 1 + k < N ? last + 1 + k : last + 1 + k - N;
                if (!found && req[place]) begin
                    found  = 1'b1;
                    winner = place[2:0];
                end
            end
        end
        grant = '0;
        if (found)
            grant[winner] = 1'b1;
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            last <= N - 1;
            held <= 1'b0;
            run  <= 4'd0;
        end else if (found && accept) begin
            last <= winner;
            if (lock[winner] && (held ? run : 4'd0) != LIMIT - 1) begin
                held <= 1'b1;
                run  <= held ? run + 4'd1 : 4'd1;
            end else begin
                held <= 1'b0;
            end
        end else if (held && !lock[last]) begin
            held <= 1'b0;
        end
    end

endmodule
