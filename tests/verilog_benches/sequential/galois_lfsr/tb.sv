// galois_lfsr: a whole period with every stride, loads (also of zero) and resets. The model holds
// the sequence as a list and moves along it by index.
module tb;
    reg         clk, rst_n, load;
    reg  [7:0]  seed;
    reg  [1:0]  stride;
    wire [7:0]  state;
    wire        home;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0012;

    reg  [7:0]  value [0:254];      // the sequence from 1 on
    reg  [7:0]  place [0:255];      // where a value stands in it
    integer     at, start, v, i;
    reg  [7:0]  x_state;

    galois_lfsr dut (
        .clk(clk), .rst_n(rst_n), .load(load), .seed(seed), .stride(stride), .state(state), .home(home)
    );

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    task check;
        begin
            samples = samples + 1;
            x_state = value[at];
            if ({state, home} !== {x_state, at == start}) mismatches = mismatches + 1;
        end
    endtask

    task step;
        begin
            if (!rst_n || (load && seed == 0)) begin
                at = 0;
                start = 0;
            end else if (load) begin
                at = place[seed];
                start = at;
            end else at = (at + stride) % 255;
        end
    endtask

    // One clock period. Inputs were set while the clock is low; outputs are looked at before and
    // after the rising edge.
    task cycle;
        begin
            #3 check;
            #2 clk = 1;
            step;
            #3 check;
            #1 clk = 0;
            #1;
        end
    endtask

    initial begin
        v = 1;
        for (i = 0; i < 255; i = i + 1) begin
            value[i] = v;
            place[v] = i;
            v = (v % 2 == 1) ? (v / 2) ^ 184 : v / 2;
        end

        clk = 0;
        at = 0; start = 0;
        load = 1; seed = 8'h55; stride = 3;
        rst_n = 0;
        #2 clk = 1;
        step;
        #3 check;
        #1 clk = 0;
        #1 cycle;
        rst_n = 1; load = 0;

        // One period by ones, then by threes (255 is a multiple of 3), then by twos.
        stride = 1;
        for (i = 0; i < 257; i = i + 1) cycle;
        load = 1; seed = 8'hc6;
        cycle;
        load = 0; stride = 3;
        for (i = 0; i < 88; i = i + 1) cycle;
        stride = 2;
        for (i = 0; i < 130; i = i + 1) cycle;
        stride = 0;
        for (i = 0; i < 3; i = i + 1) cycle;

        // Zero is never loaded; a load does not step.
        load = 1; seed = 0; stride = 2;
        cycle;
        load = 0;
        cycle;
        load = 1; seed = 8'h80;
        cycle;
        cycle;
        load = 0; stride = 0;
        cycle;
        // Reset works only at an edge, wins over load, and moves the starting value too.
        stride = 1;
        cycle;
        rst_n = 0;
        #2 check;
        rst_n = 1;
        cycle;
        rst_n = 0; load = 1; seed = 8'h3a;
        cycle;
        cycle;
        rst_n = 1; load = 0;
        cycle;
        stride = 3;
        for (i = 0; i < 90; i = i + 1) cycle;

        for (i = 0; i < 400; i = i + 1) begin
            load = (draw() >> 8) % 10 == 0;
            seed = draw() >> 8;
            if ((draw() >> 8) % 5 == 0) seed = 0;
            stride = draw() >> 8;
            rst_n = (draw() >> 8) % 30 != 0;
            cycle;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
