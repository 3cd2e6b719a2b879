module cmd_parser (
    input  logic        clk,
    input  logic        rst,
    input  logic        in_valid,
    input  logic [7:0]  in_byte,
    output logic        write_en,
    output logic        read_en,
    output logic [7:0]  address,
    output logic [15:0] data,
    output logic        error,
    output logic [1:0]  reason,
    output logic        idle
);

    localparam [2:0] IDLE = 3'd0, ADDR = 3'd1, HIGH = 3'd2, LOW = 3'd3, SUM = 3'd4, SKIP = 3'd5;
    localparam [7:0] WRITE = 8'h57, READ = 8'h52, STOP = 8'h0a;
    localparam [1:0] UNKNOWN = 2'd1, BAD_SUM = 2'd2, TOO_LATE = 2'd3;
    localparam [3:0] PATIENCE = 4'd9;

    logic [2:0]  state;
    logic        writes;
    logic [7:0]  sum;
    logic [7:0]  addr;
    logic [15:0] word;
    logic [3:0]  waited;

    assign idle = state == IDLE;

    always_ff @(posedge clk) begin
        write_en <= 1'b0;
        read_en  <= 1'b0;
        error    <= 1'b0;
        if (rst) begin
            state   <= IDLE;
            address <= 8'd0;
            data    <= 16'd0;
            reason  <= 2'd0;
        end else if (in_valid) begin
            waited <= 4'd0;
            sum    <= sum + in_byte;
            case (state)
                IDLE: begin
                    sum    <= in_byte;
                    writes <= in_byte == WRITE;
                    if (in_byte == WRITE || in_byte == READ) begin
                        state <= ADDR;
                    end else if (in_byte != STOP) begin
                        state  <= SKIP;
                        error  <= 1'b1;
                        reason <= UNKNOWN;
                    end
                end
                ADDR: begin
                    addr  <= in_byte;
                    state <= writes ? HIGH : SUM;
                end
                HIGH: begin
                    word[15:8] <= in_byte;
                    state      <= LOW;
                end
                LOW: begin
                    word[7:0] <= in_byte;
                    state     <= SUM;
                end
                SUM: begin
                    state <= IDLE;
                    if (in_byte == sum) begin
                        write_en <= writes;
                        read_en  <= !writes;
                        address  <= addr;
                        if (writes)
                            data <= word;
                    end else begin
                        error  <= 1'b1;
                        reason <= BAD_SUM;
                    end
                end
                default: begin
                    if (in_byte == STOP)
                        state <= IDLE;
                end
            endcase
        end else if (state != IDLE && state != SKIP) begin
            waited <= waited + 4'd1;
            if (waited == PATIENCE) begin
                state  <= IDLE;
                error  <= 1'b1;
                reason <= TOO_LATE;
            end
        end
    end

endmodule
