module twin_clock_fifo #(
    parameter ADDR_BITS = 3
) (
    input  logic                 wr_clk,
    input  logic                 wr_rst_n,
    input  logic                 wr_en,
    input  logic [7:0]           wr_data,
    output logic                 wr_full,
    output logic [4:0]           wr_level,
    output logic [ADDR_BITS:0]   wr_gray,
    input  logic                 rd_clk,
    input  logic                 rd_rst_n,
    input  logic                 rd_en,
    output logic [7:0]           rd_data,
    output logic                 rd_empty,
    output logic [4:0]           rd_level,
    output logic [ADDR_BITS:0]   rd_gray
);

    localparam [4:0] DEPTH = 5'd1 << ADDR_BITS;

    function automatic [ADDR_BITS:0] to_gray(input [ADDR_BITS:0] n);
        to_gray = n ^ (n >> 1);
    endfunction

    function automatic [ADDR_BITS:0] from_gray(input [ADDR_BITS:0] g);
        integer k;
        from_gray = g;
        for (k = ADDR_BITS - 1; k >= 0; k = k - 1)
            from_gray[k] = g[k] ^ from_gray[k+1];
    endfunction

    logic [7:0]         store [0:(1<<ADDR_BITS)-1];
    logic [ADDR_BITS:0] wr_count, wr_next, rd_count, rd_next;
    logic [ADDR_BITS:0] rd_meta, rd_seen;       // read pointer on its way into the write domain
    logic [ADDR_BITS:0] wr_meta, wr_seen;       // write pointer on its way into the read domain
    logic [ADDR_BITS:0] wr_diff, rd_diff;
    logic               put, get;

    // Write domain.
    assign wr_diff  = wr_count - from_gray(rd_seen);
    assign wr_level = wr_diff;
    assign wr_full  = wr_level == DEPTH;
    assign put      = wr_en && !wr_full;
    assign wr_next  = put ? wr_count + 1'b1 : wr_count;

    always_ff @(posedge wr_clk or negedge wr_rst_n) begin
        if (!wr_rst_n) begin
            wr_count <= '0;
            wr_gray  <= '0;
            rd_meta  <= '0;
            rd_seen  <= '0;
        end else begin
            wr_count <= wr_next;
            wr_gray  <= to_gray(wr_next);
            rd_meta  <= rd_gray;
            rd_seen  <= rd_meta;
        end
    end

    always_ff @(posedge wr_clk) begin
        if (put)
            store[wr_count[ADDR_BITS-1:0]] <= wr_data;
    end

    // Read domain.
    assign rd_diff  = from_gray(wr_seen) - rd_count;
    assign rd_level = rd_diff;
    assign rd_empty = rd_level == 5'd0;
    assign get      = rd_en && !rd_empty;
    assign rd_next  = get ? rd_count + 1'b1 : rd_count;
    assign rd_data  = store[rd_count[ADDR_BITS-1:0]];

    always_ff @(posedge rd_clk or negedge rd_rst_n) begin
        if (!rd_rst_n) begin
            rd_count <= '0;
            rd_gray  <= '0;
            wr_meta  <= '0;
            wr_seen  <= '0;
        end else begin
            rd_count <= rd_next;
            rd_gray  <= to_gray(rd_next);
            wr_meta  <= wr_gray;
            wr_seen  <= wr_meta;
        end
    end

endmodule
