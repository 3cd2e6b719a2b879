module shadow_pwm #(
    parameter WIDTH = 6
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             enable,
    input  logic             write,
    input  logic [WIDTH-1:0] period,
    input  logic [WIDTH-1:0] duty,
    input  logic             invert,
    output logic             pwm,
    output logic             period_end,
    output logic             pending
);

    logic [WIDTH-1:0] next_period, next_duty;   // shadow
    logic [WIDTH-1:0] cur_period, cur_duty;
    logic [WIDTH-1:0] count;
    logic             reload;

    assign period_end = enable && count == cur_period;
    assign reload     = !enable || period_end;
    assign pwm        = (enable && count < cur_duty) ^ invert;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            next_period <= '1;
            next_duty   <= '0;
            cur_period  <= '1;
            cur_duty    <= '0;
            count       <= '0;
            pending     <= 1'b0;
        end else begin
            if (write) begin
                next_period <= period;
                next_duty   <= duty;
            end
            if (reload) begin
                cur_period <= write ? period : next_period;
                cur_duty   <= write ? duty : next_duty;
            end
            pending <= !reload && (write || pending);
            count   <= reload ? '0 : count + 1'b1;
        end
    end

endmodule
