module axil_regs #(
    parameter COUNT = 6
) (
    input  logic        aclk,
    input  logic        aresetn,
    input  logic        awvalid,
    output logic        awready,
    input  logic [5:0]  awaddr,
    input  logic        wvalid,
    output logic        wready,
    input  logic [31:0] wdata,
    input  logic [3:0]  wstrb,
    output logic        bvalid,
    input  logic        bready,
    output logic [1:0]  bresp,
    input  logic        arvalid,
    output logic        arready,
    input  logic [5:0]  araddr,
    output logic        rvalid,
    input  logic        rready,
    output logic [31:0] rdata,
    output logic [1:0]  rresp
);

    logic [31:0] store [0:COUNT-1];
    logic        aw_held, w_held;       // a part of a write that waits for the other one
    logic [3:0]  aw_index;
    logic [31:0] w_data;
    logic [3:0]  w_strb;
    logic        commit, aw_known, ar_known;
    logic [3:0]  ar_index;
    integer      k, m;

    assign awready  = !aw_held;
    assign wready   = !w_held;
    assign commit   = aw_held && w_held && (!bvalid || bready);
    assign aw_known = aw_index < COUNT;
    assign arready  = !rvalid || rready;
    assign ar_index = araddr[5:2];
    assign ar_known = ar_index < COUNT;

    always_ff @(posedge aclk) begin
        if (!aresetn) begin
            aw_held  <= 1'b0;
            w_held   <= 1'b0;
            bvalid   <= 1'b0;
            bresp    <= 2'd0;
            for (k = 0; k < COUNT; k = k + 1)
                store[k] <= 32'd0;
        end else begin
            if (awvalid && awready) begin
                aw_held  <= 1'b1;
                aw_index <= awaddr[5:2];
            end
            if (wvalid && wready) begin
                w_held <= 1'b1;
                w_data <= wdata;
                w_strb <= wstrb;
            end
            if (commit) begin
                aw_held <= 1'b0;
                w_held  <= 1'b0;
                bvalid  <= 1'b1;
                bresp   <= aw_known ? 2'd0 : 2'd2;
                for (m = 0; m < 4; m = m + 1)
                    if (aw_known && w_strb[m])
                        store[aw_index][8*m +: 8] <= w_data[8*m +: 8];
            end else if (bready) begin
                bvalid <= 1'b0;
            end
        end
    end

    always_ff @(posedge aclk) begin
        if (!aresetn) begin
            rvalid <= 1'b0;
            rdata  <= 32'd0;
            rresp  <= 2'd0;
        end else if (arvalid && arready) begin
            rvalid <= 1'b1;
            rdata  <= ar_known ? store[ar_index] : 32'd0;
            rresp  <= ar_known ? 2'd0 : 2'd2;
        end else if (rready) begin
            rvalid <= 1'b0;
        end
    end

endmodule
