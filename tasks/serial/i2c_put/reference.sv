module i2c_put #(
    parameter QUARTER = 2
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       start,
    input  logic [6:0] addr,
    input  logic [7:0] data,
    output logic       busy,
    output logic       done,
    output logic [1:0] code,
    input  logic       scl_in,
    input  logic       sda_in,
    output logic       scl_low,
    output logic       sda_low
);

    localparam [4:0] START = 5'd0, ACK1 = 5'd9, ACK2 = 5'd18, STOP = 5'd19;

    logic [4:0]  slot;          // 0 start, 1 to 8 address and direction, 9 ack, 10 to 17 data, 18 ack, 19 stop
    logic [1:0]  quarter;
    logic [3:0]  ticks;
    logic [17:0] bits;          // the bit of the present slot on top, 1 in the places of the acknowledgements
    logic [1:0]  result;
    logic        present, stretched, last_tick, is_ack, lost;

    assign present   = bits[17];
    assign stretched = quarter == 2'd1 && slot != START && !scl_in;
    assign last_tick = ticks == QUARTER - 1;
    assign is_ack    = slot == ACK1 || slot == ACK2;
    assign lost      = slot != START && slot != STOP && !is_ack && quarter == 2'd2 && present && !sda_in;

    always_comb begin
        scl_low = 1'b0;
        sda_low = 1'b0;
        if (busy) begin
            if (slot == START) begin
                scl_low = quarter == 2'd3;
                sda_low = quarter != 2'd0;
            end else if (slot == STOP) begin
                scl_low = quarter == 2'd0;
                sda_low = quarter != 2'd3;
            end else begin
                scl_low = quarter == 2'd0 || quarter == 2'd3;
                sda_low = !present;
            end
        end
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            busy    <= 1'b0;
            done    <= 1'b0;
            code    <= 2'd0;
            slot    <= START;
            quarter <= 2'd0;
            ticks   <= 4'd0;
            bits    <= '1;
            result  <= 2'd0;
        end else begin
            done <= 1'b0;
            if (!busy) begin
                if (start && scl_in && sda_in) begin
                    busy    <= 1'b1;
                    slot    <= START;
                    quarter <= 2'd0;
                    ticks   <= 4'd0;
                    bits    <= {addr, 1'b0, 1'b1, data, 1'b1};
                    result  <= 2'd0;
                end
            end else if (!stretched) begin
                ticks <= last_tick ? 4'd0 : ticks + 4'd1;
                if (last_tick) begin
                    quarter <= quarter + 2'd1;
                    if (lost) begin
                        busy <= 1'b0;
                        done <= 1'b1;
                        code <= 2'd3;
                    end
                    if (quarter == 2'd2 && is_ack && sda_in)
                        result <= slot == ACK1 ? 2'd1 : 2'd2;
                    if (quarter == 2'd3) begin
                        slot <= slot == ACK1 && result != 2'd0 ? STOP : slot + 5'd1;
                        if (slot != START)
                            bits <= {bits[16:0], 1'b1};
                        if (slot == STOP) begin
                            busy <= 1'b0;
                            done <= 1'b1;
                            code <= result;
                        end
                    end
                end
            end
        end
    end

endmodule
