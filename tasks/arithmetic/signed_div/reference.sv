module signed_div #(
    parameter WIDTH = 10
) (
    input  logic                    clk,
    input  logic                    rst,
    input  logic                    in_valid,
    output logic                    in_ready,
    input  logic signed [WIDTH-1:0] num,
    input  logic signed [WIDTH-1:0] den,
    output logic                    out_valid,
    input  logic                    out_ready,
    output logic signed [WIDTH-1:0] quo,
    output logic signed [WIDTH-1:0] rem,
    output logic                    by_zero,
    output logic                    overflow
);

    localparam [WIDTH-1:0] LOWEST = {1'b1, {(WIDTH-1){1'b0}}};

    logic             running;
    logic [WIDTH:0]   part;         // partial remainder, two's complement
    logic [WIDTH-1:0] work;         // numerator bits leave at the top, quotient bits enter at the bottom
    logic [WIDTH-1:0] size;         // magnitude of the denominator
    logic             num_neg, den_neg;
    logic [WIDTH-1:0] quo_held, rem_held;
    logic             by_zero_held, overflow_held;
    logic [7:0]       left;

    // One non-restoring step: add after a negative remainder, subtract otherwise.
    logic [WIDTH:0]   moved, next_part;
    logic [WIDTH-1:0] next_work, mag;

    assign moved     = {part[WIDTH-1:0], work[WIDTH-1]};
    assign next_part = part[WIDTH] ? moved + {1'b0, size} : moved - {1'b0, size};
    assign next_work = {work[WIDTH-2:0], !next_part[WIDTH]};
    assign mag       = next_part[WIDTH] ? next_part[WIDTH-1:0] + size : next_part[WIDTH-1:0];

    assign quo       = out_valid ? quo_held : '0;
    assign rem       = out_valid ? rem_held : '0;
    assign by_zero   = out_valid && by_zero_held;
    assign overflow  = out_valid && overflow_held;
    assign in_ready  = !running && !out_valid;

    always_ff @(posedge clk) begin
        if (rst) begin
            running   <= 1'b0;
            out_valid <= 1'b0;
        end else if (running) begin
            part <= next_part;
            work <= next_work;
            left <= left - 8'd1;
            if (left == 8'd0) begin
                running   <= 1'b0;
                out_valid <= 1'b1;
                quo_held  <= num_neg != den_neg ? -next_work : next_work;
                rem_held  <= num_neg ? -mag : mag;
            end
        end else if (out_valid) begin
            if (out_ready)
                out_valid <= 1'b0;
        end else if (in_valid) begin
            part     <= '0;
            work     <= num < 0 ? -num : num;
            size     <= den < 0 ? -den : den;
            num_neg  <= num < 0;
            den_neg  <= den < 0;
            left     <= WIDTH - 1;
            by_zero_held <= den == 0;
            overflow_held <= num == $signed(LOWEST) && den == -1;
            if (den == 0) begin
                out_valid <= 1'b1;
                quo_held  <= num < 0 ? LOWEST : ~LOWEST;
                rem_held  <= num;
            end else begin
                running <= 1'b1;
            end
        end
    end

endmodule
