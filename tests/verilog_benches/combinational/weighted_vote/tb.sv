// weighted_vote: all 1024 combinations, with both inputs counting in Gray order so that one bit
// changes at a time.
module tb;
    reg  [4:0] present, ballot;
    wire [3:0] yes, no;
    wire       quorum, carried, tie;

    integer    samples = 0;
    integer    mismatches = 0;

    integer    weight [0:4];
    integer    i;
    reg  [9:0] both;

    weighted_vote dut (
        .present(present), .ballot(ballot),
        .yes(yes), .no(no), .quorum(quorum), .carried(carried), .tie(tie)
    );

    task try;
        integer n, balance, attending;
        reg [3:0] x_yes, x_no;
        reg       x_quorum, x_carried, x_tie;
        begin
            balance = 0;
            attending = 0;
            for (n = 0; n < 5; n = n + 1)
                if (present[n]) begin
                    attending = attending + weight[n];
                    if (ballot[n]) balance = balance + weight[n];
                    else balance = balance - weight[n];
                end
            x_yes = (attending + balance) / 2;
            x_no = (attending - balance) / 2;
            x_quorum = !(attending < 7);
            x_carried = x_quorum && balance > 0;
            x_tie = x_quorum && balance == 0;
            #5;
            samples = samples + 1;
            if ({yes, no, quorum, carried, tie} !== {x_yes, x_no, x_quorum, x_carried, x_tie})
                mismatches = mismatches + 1;
            #5;
        end
    endtask

    initial begin
        weight[0] = 1; weight[1] = 1; weight[2] = 2; weight[3] = 3; weight[4] = 5;
        for (i = 0; i < 1024; i = i + 1) begin
            both = i ^ (i >> 1);
            present = both[9:5];
            ballot = both[4:0];
            try;
        end
        $display("Mismatches: %0d in %0d samples", mismatches, samples);
        $finish;
    end
endmodule
