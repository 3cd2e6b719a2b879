// bit_mirror: walking ones and zeros for every stage setting in both modes, then random words; the
// model works on bit indices.
module tb;
    reg  [31:0] data;
    reg  [4:0]  swap;
    reg         spread;
    wire [31:0] result;

    integer     samples = 0;
    integer     mismatches = 0;
    reg  [31:0] noise = 32'h5eed0003;

    integer     i, j;

    bit_mirror dut (.data(data), .swap(swap), .spread(spread), .result(result));

    // The bench's own generator (xorshift), so that nothing else can disturb the stimulus.
    function [31:0] draw();
        begin
            noise = noise ^ (noise << 13);
            noise = noise ^ (noise >> 17);
            noise = noise ^ (noise << 5);
            draw = noise;
        end
    endfunction

    // Permuting sends bit n to index n xor swap; gathering ORs all bits whose indices differ in
    // enabled stages only.
    function [31:0] model(input [31:0] word, input [4:0] enables, input gather);
        reg [5:0]  n;
        reg [31:0] any;
        begin
            model = 0;
            if (gather) begin
                any = 0;
                for (n = 0; n < 32; n = n + 1)
                    if (word[n]) any[n & ~enables] = 1;
                for (n = 0; n < 32; n = n + 1)
                    model[n] = any[n & ~enables];
            end else
                for (n = 0; n < 32; n = n + 1)
                    if (word[n]) model[n ^ enables] = 1;
        end
    endfunction

    task try(input [31:0] word, input [4:0] enables, input gather);
        begin
            data = word;
            swap = enables;
            spread = gather;
            #5;
            samples = samples + 1;
            if (result !== model(word, enables, gather)) mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        for (i = 0; i < 32; i = i + 1)
            for (j = 0; j < 2; j = j + 1) begin
                try(32'h1 << (draw() >> 9), i, 0);
                try(~(32'h1 << (draw() >> 9)), i, 0);
                try(32'h1 << (draw() >> 9), i, 1);
                try(32'h0001_8000 << (draw() >> 9), i, 1);
            end
        for (i = 0; i < 5; i = i + 1)
            for (j = 0; j < 32; j = j + 1) begin
                try(32'h1 << j, 5'h1 << i, (j ^ i) & 1);
                if (j % 4 == 0) try(32'h1 << j, 5'h1 << i, ~(j ^ i) & 1);
            end
        try(32'h0000_0000, 31, 1);
        try(32'hffff_ffff, 31, 1);
        for (i = 0; i < 100; i = i + 1) try(draw(), draw() >> 11, 0);
        for (i = 0; i < 60; i = i + 1) try(draw() & draw() & draw(), draw() >> 11, 1);
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
