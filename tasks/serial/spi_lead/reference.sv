module spi_lead #(
    parameter HALF = 2
) (
    input  logic       clk,
    input  logic       rst,
    input  logic       start,
    input  logic       mode3,
    input  logic [7:0] tx_data,
    input  logic       miso,
    output logic       sck,
    output logic       mosi,
    output logic       cs_n,
    output logic       done,
    output logic [7:0] rx_data
);

    logic [3:0] wait_left;      // cycles until the next change, less one
    logic [4:0] changes;        // changes of sck that are over, 16 at the end
    logic [7:0] out_bits, in_bits;

    assign mosi = out_bits[7];

    always_ff @(posedge clk) begin
        if (rst) begin
            sck       <= 1'b0;
            cs_n      <= 1'b1;
            done      <= 1'b0;
            rx_data   <= 8'd0;
            out_bits  <= 8'd0;
            in_bits   <= 8'd0;
            changes   <= 5'd0;
            wait_left <= 4'd0;
        end else begin
            done <= 1'b0;
            if (cs_n) begin
                if (start) begin
                    cs_n      <= 1'b0;
                    sck       <= mode3;
                    out_bits  <= tx_data;
                    changes   <= 5'd0;
                    wait_left <= HALF - 1;
                end
            end else if (wait_left != 4'd0) begin
                wait_left <= wait_left - 4'd1;
            end else if (changes == 5'd16) begin
                cs_n    <= 1'b1;
                done    <= 1'b1;
                rx_data <= in_bits;
            end else begin
                wait_left <= HALF - 1;
                changes   <= changes + 5'd1;
                sck       <= !sck;
                if (!sck)
                    in_bits <= {in_bits[6:0], miso};
                else if (changes != 5'd0 && changes != 5'd15)
                    out_bits <= {out_bits[6:0], 1'b0};
            end
        end
    end

endmodule
