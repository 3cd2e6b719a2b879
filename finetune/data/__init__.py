"""From conversations to fixed-shape batches: sources, tokens with their roles, packing."""
