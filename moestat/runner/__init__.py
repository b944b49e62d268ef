"""The machine: plan, workers, shards, collection. It moves numbers, and computes and judges none."""
