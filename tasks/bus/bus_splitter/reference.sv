module bus_splitter #(
    parameter LIMIT = 6
) (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        m_valid,
    output logic        m_ready,
    input  logic        m_write,
    input  logic [7:0]  m_addr,
    input  logic [15:0] m_wdata,
    output logic        r_valid,
    output logic [1:0]  r_code,
    output logic [15:0] r_data,
    output logic [2:0]  t_valid,
    output logic        t_write,
    output logic [6:0]  t_addr,
    output logic [15:0] t_wdata,
    input  logic [2:0]  t_ready,
    input  logic [47:0] t_rdata,
    output logic [3:0]  timeouts,
    output logic [1:0]  culprit
);

    logic [3:0]  waited;
    logic [1:0]  target;
    logic [2:0]  chosen;
    logic [6:0]  offset;
    logic        answered;
    logic [15:0] answer;

    // The four regions: half, quarter, eighth, and an eighth that is empty.
    assign chosen = !m_addr[7] ? 3'b001 : !m_addr[6] ? 3'b010 : !m_addr[5] ? 3'b100 : 3'b000;
    assign offset = !m_addr[7] ? m_addr[6:0] : !m_addr[6] ? {1'b0, m_addr[5:0]} : {2'b00, m_addr[4:0]};

    assign m_ready  = t_valid == 3'd0;
    assign target   = t_valid[2] ? 2'd2 : t_valid[1] ? 2'd1 : 2'd0;
    assign answered = (t_valid & t_ready) != 3'd0;
    assign answer   = t_rdata[16*target +: 16];

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            t_valid  <= 3'd0;
            t_write  <= 1'b0;
            t_addr   <= 7'd0;
            t_wdata  <= 16'd0;
            r_valid  <= 1'b0;
            r_code   <= 2'd0;
            r_data   <= 16'd0;
            waited   <= 4'd0;
            timeouts <= 4'd0;
            culprit  <= 2'd3;
        end else begin
            r_valid <= 1'b0;
            if (m_ready) begin
                if (m_valid && chosen != 3'd0) begin
                    t_valid <= chosen;
                    t_write <= m_write;
                    t_addr  <= offset;
                    t_wdata <= m_wdata;
                    waited  <= 4'd1;
                end else if (m_valid) begin
                    r_valid <= 1'b1;
                    r_code  <= 2'd1;
                    r_data  <= 16'd0;
                end
            end else if (answered) begin
                t_valid <= 3'd0;
                r_valid <= 1'b1;
                r_code  <= 2'd0;
                r_data  <= t_write ? 16'd0 : answer;
            end else if (waited == LIMIT) begin
                t_valid <= 3'd0;
                r_valid <= 1'b1;
                r_code  <= 2'd2;
                r_data  <= 16'd0;
                culprit <= target;
                if (timeouts != 4'd15)
                    timeouts <= timeouts + 4'd1;
            end else begin
                waited <= waited + 4'd1;
            end
        end
    end

endmodule
