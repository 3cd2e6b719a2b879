module weighted_vote (
    input  logic [4:0] present,
    input  logic [4:0] ballot,
    output logic [3:0] yes,
    output logic [3:0] no,
    output logic       quorum,
    output logic       carried,
    output logic       tie
);

    function automatic [3:0] weigh(input [4:0] members);
        weigh = {3'd0, members[0]} + {3'd0, members[1]} + {2'd0, members[2], 1'b0}
              + (members[3] ? 4'd3 : 4'd0) + (members[4] ? 4'd5 : 4'd0);
    endfunction

    assign yes     = weigh(present & ballot);
    assign no      = weigh(present & ~ballot);
    assign quorum  = yes + no >= 4'd7;
    assign carried = quorum && yes > no;
    assign tie     = quorum && yes == no;

endmodule
