module acc_core (
    input  logic       clk,
    input  logic       rst,
    output logic       mem_req,
    output logic       mem_write,
    output logic [7:0] mem_addr,
    output logic [7:0] mem_wdata,
    input  logic       mem_ack,
    input  logic [7:0] mem_rdata,
    output logic [7:0] acc,
    output logic [7:0] pc,
    output logic       carry,
    output logic       halted
);

    localparam [2:0] OPCODE = 3'd0, OPERAND = 3'd1, LOAD = 3'd2, STORE = 3'd3, HALT = 3'd4;

    logic [2:0] state;
    logic [3:0] op;
    logic [7:0] target;

    // The second operand of arithmetic is what memory delivers now, immediate or not.
    logic [8:0] added, taken;
    logic       jumps;

    assign added = {1'b0, acc} + {1'b0, mem_rdata};
    assign taken = {1'b0, acc} - {1'b0, mem_rdata};

    assign mem_req   = state != HALT;
    assign mem_write = state == STORE;
    assign mem_addr  = state == LOAD || state == STORE ? target : pc;
    assign mem_wdata = acc;
    assign halted    = state == HALT;

    always_comb begin
        case (op)
            4'h8:    jumps = 1'b1;
            4'h9:    jumps = acc == 8'd0;
            4'ha:    jumps = carry;
            default: jumps = 1'b0;
        endcase
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            state <= OPCODE;
            acc   <= 8'd0;
            pc    <= 8'd0;
            carry <= 1'b0;
        end else if (mem_req && mem_ack) begin
            case (state)
                OPCODE: begin
                    pc <= pc + 8'd1;
                    op <= mem_rdata[7:4];
                    case (mem_rdata[7:4])
                        4'h0: ;
                        4'h1: acc <= ~acc;
                        4'h2: {carry, acc} <= {acc, 1'b0};
                        4'h3: {acc, carry} <= {1'b0, acc};
                        4'hf: state <= HALT;
                        default: state <= OPERAND;
                    endcase
                end
                OPERAND: begin
                    pc     <= pc + 8'd1;
                    target <= mem_rdata;
                    state  <= OPCODE;
                    case (op)
                        4'h4: acc <= mem_rdata;
                        4'h5, 4'h6, 4'h7, 4'hc, 4'hd, 4'he: state <= LOAD;
                        4'hb: state <= STORE;
                        default: if (jumps) pc <= mem_rdata;
                    endcase
                end
                LOAD: begin
                    state <= OPCODE;
                    case (op)
                        4'h5: acc <= mem_rdata;
                        4'h6: {carry, acc} <= added;
                        4'h7: {carry, acc} <= taken;
                        4'hc: acc <= acc & mem_rdata;
                        4'hd: acc <= acc | mem_rdata;
                        default: acc <= acc ^ mem_rdata;
                    endcase
                end
                default: state <= OPCODE;
            endcase
        end
    end

endmodule
