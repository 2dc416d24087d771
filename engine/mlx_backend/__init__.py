"""The one place that imports MLX and mlx-lm. NumPy arrays come out; models and caches stay inside.

Everything here belongs to one thread: MLX's streams and lazy arrays do, and so no module keeps an array
of its own. OpenBLAS has to be in the process before `mlx.core` is, hence the first line below.
"""

from engine.mlx_backend import blas

#: What multiplies matrices in this process.
BLAS = blas.ensure()
