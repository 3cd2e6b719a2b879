module spi_register #(
    parameter IDENT = 165
) (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        sck,
    input  logic        cs_n,
    input  logic        mosi,
    input  logic [7:0]  status,
    output logic        miso,
    output logic [47:0] regs,
    output logic        wr_strobe,
    output logic [2:0]  wr_addr
);

    logic       sck_meta, sck_seen, sck_before;
    logic       cs_meta, cs_seen;
    logic       mosi_meta, mosi_seen;
    logic       rise, fall, byte_done;
    logic [2:0] bits;                   // bits of the present byte that are in
    logic [6:0] in_bits;
    logic [7:0] in_byte, out_bits, fetched;
    logic       command, writing;       // the present byte is the command; the frame writes
    logic [2:0] addr, fetch_addr;

    assign rise       = sck_seen && !sck_before;
    assign fall       = !sck_seen && sck_before;
    assign in_byte    = {in_bits, mosi_seen};
    assign byte_done  = rise && bits == 3'd7;
    assign fetch_addr = command ? in_byte[2:0] : addr + 3'd1;
    assign fetched    = fetch_addr == 3'd7 ? IDENT : fetch_addr == 3'd6 ? status : regs[8*fetch_addr +: 8];

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            sck_meta   <= 1'b0;
            sck_seen   <= 1'b0;
            sck_before <= 1'b0;
            cs_meta    <= 1'b1;
            cs_seen    <= 1'b1;
            mosi_meta  <= 1'b0;
            mosi_seen  <= 1'b0;
        end else begin
            sck_meta   <= sck;
            sck_seen   <= sck_meta;
            sck_before <= sck_seen;
            cs_meta    <= cs_n;
            cs_seen    <= cs_meta;
            mosi_meta  <= mosi;
            mosi_seen  <= mosi_meta;
        end
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            bits      <= 3'd0;
            in_bits   <= 7'd0;
            out_bits  <= 8'd0;
            command   <= 1'b1;
            writing   <= 1'b0;
            addr      <= 3'd0;
            miso      <= 1'b0;
            regs      <= 48'd0;
            wr_strobe <= 1'b0;
            wr_addr   <= 3'd0;
        end else begin
            wr_strobe <= 1'b0;
            if (cs_seen) begin
                bits     <= 3'd0;
                out_bits <= 8'd0;
                command  <= 1'b1;
                miso     <= 1'b0;
            end else if (rise) begin
                bits    <= bits + 3'd1;
                in_bits <= in_byte[6:0];
                if (byte_done) begin
                    out_bits <= fetched;
                    addr     <= fetch_addr;
                    command  <= 1'b0;
                    if (command) begin
                        writing <= in_byte[7];
                    end else if (writing && addr < 3'd6) begin
                        regs[8*addr +: 8] <= in_byte;
                        wr_strobe         <= 1'b1;
                        wr_addr           <= addr;
                    end
                end
            end else if (fall) begin
                miso     <= out_bits[7];
                out_bits <= {out_bits[6:0], 1'b0};
            end
        end
    end

endmodule
