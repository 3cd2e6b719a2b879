module oneshot_timer (
    input  logic        clk,
    input  logic        rst,
    input  logic        start,
    input  logic        stop,
    input  logic        periodic,
    input  logic [3:0]  prescale,
    input  logic [5:0] reload,
    output logic        running,
    output logic        expired,
    output logic [5:0] remaining,
    output logic [7:0]  missed,
    input  logic        ack,
    output logic        irq
);

    logic [3:0]  divide;        // prescaler, counts down
    logic [3:0]  scale;
    logic [5:0] again;
    logic        repeats;
    logic        fires;

    assign fires = running && divide == 4'd0 && remaining == 6'd0;

    always_ff @(posedge clk) begin
        if (rst) begin
            running   <= 1'b0;
            expired   <= 1'b0;
            remaining <= 6'd0;
            missed    <= 8'd0;
            irq       <= 1'b0;
        end else begin
            expired <= 1'b0;
            if (ack) begin
                irq    <= 1'b0;
                missed <= 8'd0;
            end
            if (start) begin
                running   <= 1'b1;
                repeats   <= periodic;
                scale     <= prescale;
                divide    <= prescale;
                again     <= reload;
                remaining <= reload;
            end else if (stop) begin
                running <= 1'b0;
            end else if (fires) begin
                expired <= 1'b1;
                irq     <= 1'b1;
                if (irq && !ack && missed != 8'hff)
                    missed <= missed + 8'd1;
                if (repeats) begin
                    divide    <= scale;
                    remaining <= again;
                end else begin
                    running <= 1'b0;
                end
            end else if (running) begin
                if (divide == 4'd0) begin
                    divide    <= scale;
                    remaining <= remaining - 6'd1;
                end else begin
                    divide <= divide - 4'd1;
                end
            end
        end
    end

endmodule
