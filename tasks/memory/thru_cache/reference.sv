module thru_cache (
    input  logic       clk,
    input  logic       rst,
    input  logic       invalidate,
    input  logic       req,
    input  logic       write,
    input  logic [5:0] addr,
    input  logic [7:0] wdata,
    output logic       busy,
    output logic       done,
    output logic       hit,
    output logic [7:0] rdata,
    output logic       mem_req,
    output logic       mem_write,
    output logic [5:0] mem_addr,
    output logic [7:0] mem_wdata,
    input  logic       mem_ack,
    input  logic [7:0] mem_rdata
);

    logic [3:0] valid;
    logic [3:0] tags [0:3];
    logic [7:0] data [0:3];

    logic [1:0] line, mem_line;
    logic       found;

    assign line     = addr[1:0];
    assign mem_line = mem_addr[1:0];
    assign found    = valid[line] && tags[line] == addr[5:2];
    assign busy     = mem_req;

    always_ff @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            valid     <= 4'd0;
            mem_req   <= 1'b0;
            hit       <= 1'b0;
            rdata     <= 8'd0;
        end else begin
            if (mem_req) begin
                if (mem_ack) begin
                    mem_req <= 1'b0;
                    done    <= 1'b1;
                    if (!mem_write) begin
                        valid[mem_line] <= 1'b1;
                        tags[mem_line]  <= mem_addr[5:2];
                        data[mem_line]  <= mem_rdata;
                        rdata           <= mem_rdata;
                    end
                end
            end else if (req) begin
                hit <= found;
                if (write || !found) begin
                    mem_req   <= 1'b1;
                    mem_write <= write;
                    mem_addr  <= addr;
                    mem_wdata <= wdata;
                    if (write && found)
                        data[line] <= wdata;
                end else begin
                    done  <= 1'b1;
                    rdata <= data[line];
                end
            end
            if (invalidate)
                valid <= 4'd0;
        end
    end

endmodule
