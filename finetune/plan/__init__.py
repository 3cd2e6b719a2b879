"""What a recipe needs of a machine that is not there: memory, operations, time and cost (``verieval plan``)."""
