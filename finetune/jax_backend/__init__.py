"""Training on JAX: Gemma 4 in flax.nnx, its adapters, loss and shardings."""
