"""`python -m engine.mlx_backend.blas`: build what this machine needs and say what MLX will use."""

from engine.mlx_backend import blas

report = blas.ensure()
print(f"{report.kind}: {report.detail}")
if report.advice:
    print(report.advice)
