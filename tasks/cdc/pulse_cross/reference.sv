module pulse_cross #(
    parameter STAGES = 2
) (
    input  logic       src_clk,
    input  logic       src_rst_n,
    input  logic       src_pulse,
    output logic       src_busy,
    output logic [3:0] src_missed,
    input  logic       dst_clk,
    input  logic       dst_rst_n,
    output logic       dst_pulse,
    output logic [4:0] dst_count
);

    logic              toggle;          // turns over with each pulse sent
    logic              echo;            // the toggle as the destination has answered it
    logic [STAGES-1:0] there, back;     // on the way; the highest bit is the oldest

    assign src_busy  = toggle != back[STAGES-1];
    assign dst_pulse = there[STAGES-1] != echo;

    always_ff @(posedge src_clk or negedge src_rst_n) begin
        if (!src_rst_n) begin
            toggle     <= 1'b0;
            back       <= '0;
            src_missed <= 4'd0;
        end else begin
            back <= {back[STAGES-2:0], echo};
            if (src_pulse && !src_busy)
                toggle <= !toggle;
            if (src_pulse && src_busy && src_missed != 4'd15)
                src_missed <= src_missed + 4'd1;
        end
    end

    always_ff @(posedge dst_clk or negedge dst_rst_n) begin
        if (!dst_rst_n) begin
            there     <= '0;
            echo      <= 1'b0;
            dst_count <= 5'd0;
        end else begin
            there <= {there[STAGES-2:0], toggle};
            echo  <= there[STAGES-1];
            if (dst_pulse)
                dst_count <= dst_count + 5'd1;
        end
    end

endmodule
