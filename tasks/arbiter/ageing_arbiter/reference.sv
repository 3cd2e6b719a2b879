module ageing_arbiter #(
    parameter N   = 4,
    parameter CAP = 12
) (
    input  logic           clk,
    input  logic           rst_n,
    input  logic           slot,
    input  logic [N-1:0]   req,
    input  logic [3*N-1:0] base,
    output logic [N-1:0]   grant,
    output logic [3:0]     score,
    output logic           idle
);

    logic [3:0]   age [0:N-1];
    logic [4:0]   sum;
    logic [4:0]   best;
    logic [N-1:0] pick;
    integer       k, m;

    // Going down, so that the lowest index wins a tie.
    always_comb begin
        best = 5'd0;
        pick = '0;
        sum  = 5'd0;
        for (k = N - 1; k >= 0; k = k - 1) begin
            sum = {2'd0, base[3*k +: 3]} + {1'b0, age[k]};
            if (sum > CAP)
                sum = CAP;
            if (req[k] && sum >= best) begin
                best    = sum;
                pick    = '0;
                pick[k] = 1'b1;
            end
        end
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            grant <= '0;
            score <= 4'd0;
            idle  <= 1'b1;
            for (m = 0; m < N; m = m + 1)
                age[m] <= 4'd0;
        end else if (slot) begin
            grant <= pick;
            score <= best[3:0];
            idle  <= req == '0;
            for (m = 0; m < N; m = m + 1) begin
                if (!req[m] || pick[m])
                    age[m] <= 4'd0;
                else if (age[m] != 4'd15)
                    age[m] <= age[m] + 4'd1;
            end
        end
    end

endmodule
