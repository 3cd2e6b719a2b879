module int_sqrt #(
    parameter HALF = 6
) (
    input  logic              clk,
    input  logic              rst_n,
    input  logic              start,
    input  logic [2*HALF-1:0] value,
    output logic              busy,
    output logic              done,
    output logic [HALF-1:0]   root,
    output logic [HALF:0]     rest
);

    logic [2*HALF-1:0] work;        // value bits leave two at a time
    logic [HALF+1:0]   part;
    logic [HALF-1:0]   sofar;
    logic [5:0]        left;

    logic [HALF+1:0]   widened, trial;
    logic              fits;

    assign widened = {part[HALF-1:0], work[2*HALF-1 -: 2]};
    assign trial   = {sofar, 2'b01};
    assign fits    = widened >= trial;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            busy <= 1'b0;
            done <= 1'b0;
            root <= '0;
            rest <= '0;
        end else begin
            done <= 1'b0;
            if (start) begin
                busy  <= 1'b1;
                work  <= value;
                part  <= '0;
                sofar <= '0;
                left  <= HALF - 1;
            end else if (busy) begin
                work  <= work << 2;
                part  <= fits ? widened - trial : widened;
                sofar <= {sofar[HALF-2:0], fits};
                left  <= left - 6'd1;
                if (left == 6'd0) begin
                    busy <= 1'b0;
                    done <= 1'b1;
                    root <= {sofar[HALF-2:0], fits};
                    rest <= fits ? widened - trial : widened;
                end
            end
        end
    end

endmodule
