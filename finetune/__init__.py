"""Fine-tuning: recipes, data, one loss, and the backends that execute it."""
