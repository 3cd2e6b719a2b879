module crossing_light (
    input  logic clk,
    input  logic rst,
    input  logic tick,
    input  logic request,
    output logic red,
    output logic amber,
    output logic green,
    output logic walk,
    output logic pending
);

    localparam [2:0] DRIVE = 3'd0, SLOW = 3'd1, STOP = 3'd2, WALK = 3'd3, BLINK = 3'd4, RELEASE = 3'd5;

    logic [2:0] phase, ticks, last;     // ticks already seen in this phase; the number with which the next tick ends it
    logic       leave;

    always @* begin
        case (phase)
            DRIVE:   last = 3'd5;
            SLOW:    last = 3'd1;
            WALK:    last = 3'd3;
            BLINK:   last = 3'd2;
            default: last = 3'd0;
        endcase
    end

    assign leave = tick && ticks == last && (phase != DRIVE || pending || request);
    assign red   = phase >= STOP;
    assign amber = phase == SLOW || phase == RELEASE;
    assign green = phase == DRIVE;
    assign walk  = phase == WALK || (phase == BLINK && ticks == 3'd1);

    always_ff @(posedge clk or posedge rst) begin
        if (rst) begin
            phase   <= DRIVE;
            ticks   <= 3'd0;
            pending <= 1'b0;
        end else begin
            if (leave) begin
                phase <= phase == RELEASE ? DRIVE : phase + 3'd1;
                ticks <= 3'd0;
            end else if (tick && ticks != last) begin
                ticks <= ticks + 3'd1;
            end
            if (leave && phase == STOP)
                pending <= 1'b0;
            else if (request && phase != WALK)
                pending <= 1'b1;
        end
    end

endmodule
