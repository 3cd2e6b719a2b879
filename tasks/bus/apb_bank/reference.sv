module apb_bank #(
    parameter WAIT_WRITE = 1,
    parameter WAIT_READ  = 2
) (
    input  logic        pclk,
    input  logic        presetn,
    input  logic        psel,
    input  logic        penable,
    input  logic        pwrite,
    input  logic [7:0]  paddr,
    input  logic [15:0] pwdata,
    output logic [15:0] prdata,
    output logic        pready,
    output logic        pslverr,
    output logic [63:0] regs
);

    logic [3:0] waits;                  // wait states of this access still to come
    logic [3:0] errors;                 // accesses that ended with an error
    logic       access, known, legal, finish;
    logic [1:0] index;

    assign access  = psel && penable;
    assign index   = paddr[2:1];
    assign known   = paddr[7:4] == 4'd0 && !paddr[0] && (!paddr[3] || paddr[2:1] == 2'd0);
    assign legal   = known && (!pwrite || !paddr[3]);
    assign pready  = access && waits == 4'd0;
    assign pslverr = pready && !legal;
    assign finish  = pready;
    assign prdata  = !pready || pwrite || !legal ? 16'd0
                   : paddr[3] ? {12'd0, errors} : regs[16*index +: 16];

    // Every access begins with a setup cycle, which loads the counter, so it needs no reset.
    always_ff @(posedge pclk) begin
        if (psel && !penable)
            waits <= pwrite ? WAIT_WRITE : WAIT_READ;
        else if (waits != 4'd0)
            waits <= waits - 4'd1;
    end

    always_ff @(posedge pclk or negedge presetn) begin
        if (!presetn) begin
            errors <= 4'd0;
            regs   <= 64'd0;
        end else begin
            if (finish) begin
                if (pslverr)
                    errors <= errors == 4'd15 ? errors : errors + 4'd1;
                else if (pwrite)
                    regs[16*index +: 16] <= pwdata;
                else if (paddr[3])
                    errors <= 4'd0;
            end
        end
    end

endmodule
