"""Training on JAX: Gemma 4 in flax.nnx, its adapters, loss and shardings."""

# Queries that attend at one time: what a sliding layer needs then does not grow with the square of the length.
ATTENTION_BLOCK = 1024
