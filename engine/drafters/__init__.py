"""What proposes tokens. Pure ones live here; those that run a model live in engine.mlx_backend.drafters."""
