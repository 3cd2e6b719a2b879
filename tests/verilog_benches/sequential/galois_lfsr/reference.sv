module galois_lfsr (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       load,
    input  logic [7:0] seed,
    input  logic [1:0] stride,
    output logic [7:0] state,
    output logic       home
);

    logic [7:0] origin, usable, once, twice, thrice;

    function automatic [7:0] step(input [7:0] from);
        step = {1'b0, from[7:1]} ^ (from[0] ? 8'hb8 : 8'h00);
    endfunction

    assign home   = state == origin;
    assign usable = seed == 8'd0 ? 8'd1 : seed;
    assign once   = step(state);
    assign twice  = step(once);
    assign thrice = step(twice);

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            state  <= 8'd1;
            origin <= 8'd1;
        end else if (load) begin
            state  <= usable;
            origin <= usable;
        end else begin
            case (stride)
                2'd0: state <= state;
                2'd1: state <= once;
                2'd2: state <= twice;
                2'd3: state <= thrice;
            endcase
        end
    end

endmodule
