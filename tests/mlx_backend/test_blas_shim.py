"""The shim against NumPy in float64, and the proof that MLX's products really go through it."""

import ctypes
import itertools
import os
import subprocess
import sys

import mlx.core as mx
import numpy as np
import pytest

from engine.mlx_backend import BLAS, blas
from engine.mlx_backend.blas import shim, threads

ROW, COLUMN = 101, 102
PLAIN, TRANSPOSED = 111, 112
KINDS = {"cblas_sgemm": np.float32, "cblas_dgemm": np.float64, "cblas_cgemm": np.complex64}


def stored(matrix, order, flag, spare):
    """The matrix as BLAS wants it: maybe transposed, in its order, with `spare` unused numbers a line."""
    matrix = matrix.T if flag == TRANSPOSED else matrix
    matrix = matrix if order == ROW else matrix.T
    lines, length = matrix.shape
    padded = np.full((lines, length + spare), np.nan, dtype=matrix.dtype)
    padded[:, :length] = matrix
    return padded, length + spare


def gemm(name, order, flags, a, b, c, alpha, beta, spare):
    """alpha op(a) op(b) + beta c through the shim; a is m x k, b is k x n, c is m x n."""
    (m, k), n = a.shape, b.shape[1]
    left, lda = stored(a, order, flags[0], spare)
    right, ldb = stored(b, order, flags[1], spare)
    out, ldc = stored(c, order, PLAIN, spare)
    pointer = ctypes.c_void_p
    if name == "cblas_cgemm":
        scale = [np.array([value], dtype=np.complex64) for value in (alpha, beta)]
        factors = [pointer(value.ctypes.data) for value in scale]
    else:
        kind = ctypes.c_float if name == "cblas_sgemm" else ctypes.c_double
        factors = [kind(alpha), kind(beta)]
    arrays = [pointer(array.ctypes.data) for array in (left, right, out)]
    function = getattr(shim.load().shim, name)
    function.restype = None
    lead = [max(1, ld) for ld in (lda, ldb, ldc)]
    function(
        order,
        *flags,
        m,
        n,
        k,
        factors[0],
        arrays[0],
        lead[0],
        arrays[1],
        lead[1],
        factors[1],
        arrays[2],
        lead[2],
    )
    assert np.isnan(out[:, out.shape[1] - spare :]).all() if spare else True, "wrote past a line's end"
    result = out[:, : out.shape[1] - spare] if spare else out
    return result if order == ROW else result.T


def random(rng, shape, dtype):
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if dtype == np.complex64 else values).astype(dtype)


@pytest.mark.parametrize("order", [ROW, COLUMN])
@pytest.mark.parametrize("name", KINDS)
def test_products_equal_numpy(name, order):
    rng = np.random.default_rng(7)
    sizes = itertools.product([1, 2, 5], [1, 3, 40], [1, 4, 65])
    for (m, n, k), flags, (alpha, beta), spare in itertools.product(
        sizes, itertools.product([PLAIN, TRANSPOSED], repeat=2), [(1, 0), (1, 1), (-0.5, 2)], [0, 3]
    ):
        a, b, c = (random(rng, shape, KINDS[name]) for shape in ((m, k), (k, n), (m, n)))
        right = alpha * (a.astype(np.complex128) @ b) + beta * c.astype(np.complex128)
        got = gemm(name, order, flags, a, b, c, alpha, beta, spare)
        limit = 1e-12 if name == "cblas_dgemm" else 2e-5
        case = f"{name} m={m} n={n} k={k} flags={flags} alpha={alpha} beta={beta} spare={spare}"
        np.testing.assert_allclose(got, right, rtol=limit, atol=limit * k, err_msg=case)


@pytest.mark.parametrize("m", [1, 2])
def test_beta_0_does_not_read_the_result(m):
    rng = np.random.default_rng(8)
    a, b = random(rng, (m, 9), np.float32), random(rng, (9, 6), np.float32)
    for flags in itertools.product([PLAIN, TRANSPOSED], repeat=2):
        got = gemm("cblas_sgemm", ROW, flags, a, b, np.full((m, 6), np.nan, np.float32), 1, 0, 0)
        np.testing.assert_allclose(got, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("m", [1, 2])
def test_a_sum_over_nothing_still_scales_by_beta(m):
    a, b = np.zeros((m, 0), np.float32), np.zeros((0, 6), np.float32)
    got = gemm("cblas_sgemm", ROW, (PLAIN, PLAIN), a, b, np.ones((m, 6), np.float32), 1, 2, 0)
    np.testing.assert_array_equal(got, np.full((m, 6), 2, np.float32))


@pytest.mark.parametrize("rows", [1, 5])
def test_mlx_is_served_by_openblas(rows):
    a, b = mx.ones((rows, 8)), mx.ones((8, 5))
    mx.eval(a, b)
    before = blas.calls()
    product = a @ b
    mx.eval(product)
    assert blas.calls() == before + 1
    assert product.tolist() == [[8.0] * 5] * rows


def test_the_report_names_library_and_threads():
    assert BLAS is blas.ensure()
    assert BLAS.kind == "OpenBLAS"
    assert not BLAS.slow
    assert BLAS.advice == ""
    assert f"threads: {threads.thread_count()}" in BLAS.detail
    assert shim.load().openblas.scipy_openblas_get_num_threads() == threads.thread_count()


def run(code: str, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environ, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_mlx_imported_too_early_is_said():
    told = run(
        "import mlx.core; from engine.mlx_backend import BLAS; print(BLAS.kind, BLAS.detail, BLAS.advice)"
    )
    assert told.startswith("reference mlx.core was imported before")
    assert "Import engine.mlx_backend before" in told


def test_without_a_compiler_the_next_best_is_used_and_said(tmp_path):
    """Debian's OpenBLAS where it is installed, else the reference BLAS with what is missing and advice."""
    code = (
        "from engine.mlx_backend import blas; r = blas._through_shim(); assert r is None;"
        "print(blas.shim.problem()); print(blas.ensure().kind); print(blas.ensure().advice)"
    )
    problem, kind, *advice = run(code, CC="no-such-compiler", XDG_CACHE_HOME=str(tmp_path)).split("\n")
    assert problem == "no-such-compiler was not found"
    assert (kind, bool(advice)) in (("OpenBLAS", False), ("reference", True))
    if advice:
        assert "C compiler" in advice[0]


def test_a_failing_compiler_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "false")
    with pytest.raises(subprocess.CalledProcessError):
        shim.build(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_shim_is_built_once(tmp_path, monkeypatch):
    built = shim.build(tmp_path)
    monkeypatch.setenv("CC", "false")
    assert shim.build(tmp_path) == built
    assert [path.name for path in tmp_path.iterdir()] == [built.name]


def test_the_command_builds_and_reports():
    done = subprocess.run(
        [sys.executable, "-m", "engine.mlx_backend.blas"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("OpenBLAS: ")
    assert done.stderr == ""


def test_threads_are_cores_less_one_and_the_users_choice_wins(tmp_path, monkeypatch):
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(siblings + "\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    quota = tmp_path / "cpu.max"
    assert threads.physical_cores(tmp_path, quota) == 2
    quota.write_text("max 100000\n")
    assert threads.physical_cores(tmp_path, quota) == 2
    quota.write_text("150000 100000\n")
    assert threads.physical_cores(tmp_path, quota) == 1
    assert threads.thread_setting({"OPENBLAS_NUM_THREADS": "3"}) == 3
    assert threads.thread_setting({"OPENBLAS_NUM_THREADS": "many"}) is None
    monkeypatch.setattr(threads, "physical_cores", lambda: 4)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads.thread_count() == 3
    monkeypatch.setattr(threads, "physical_cores", lambda: 1)
    assert threads.thread_count() == 1


@pytest.fixture(params=[16, 8, 0])
def width(request):
    """The widest kernel for few rows up to this while a test runs; 0: none."""
    loaded = shim.load()
    yield loaded.few_rows(request.param)
    loaded.set_threads(threads.thread_count())


@pytest.mark.parametrize("m", [1, 2, 3, 5, 6, 7, 13, 32])
def test_few_rows_equal_numpy(width, m):
    rng = np.random.default_rng(9)
    for n, k, (alpha, beta), spare in itertools.product(
        [1, 3, 4, 9], [0, 1, 15, 16, 40], [(1, 0), (-0.5, 2)], [0, 3]
    ):
        a, b, c = (random(rng, shape, np.float32) for shape in ((m, k), (k, n), (m, n)))
        right = alpha * (a.astype(np.float64) @ b) + beta * c.astype(np.float64)
        got = gemm("cblas_sgemm", ROW, (PLAIN, TRANSPOSED), a, b, c, alpha, beta, spare)
        case = f"m={m} n={n} k={k} alpha={alpha} beta={beta} spare={spare}"
        np.testing.assert_allclose(got, right, rtol=2e-5, atol=2e-5 * max(k, 1), err_msg=case)


def test_a_row_of_our_own_kernel_has_the_same_bits_whatever_stands_beside_it(width):
    """What OpenBLAS gives to a row depends on how many there are: the reason why a session repeats its own
    passes to the last bit, and nobody else's."""
    rng = np.random.default_rng(10)
    a, b = random(rng, (32, 100), np.float32), random(rng, (100, 11), np.float32)

    def product(rows):
        out = np.full((len(rows), 11), np.nan, np.float32)
        return gemm("cblas_sgemm", ROW, (PLAIN, TRANSPOSED), rows, b, out, 1, 0, 0)

    whole = product(a)
    assert not np.isnan(whole).any()
    parts = [(product(a[first:last]), whole[first:last]) for first, last in ((0, 1), (4, 9), (26, 32))]
    same = all(np.array_equal(part, rows) for part, rows in parts)
    assert same if width else all(np.allclose(part, rows, rtol=1e-4, atol=1e-4) for part, rows in parts)


def test_several_threads_leave_few_rows_to_openblas():
    loaded = shim.load()
    try:
        assert loaded.set_threads(2) == 0
        assert loaded.set_threads(1) == loaded.few_rows(shim.WIDEST)
    finally:
        loaded.set_threads(threads.thread_count())


def test_the_kernel_is_part_of_what_a_re_run_must_share():
    one = blas.BlasReport("OpenBLAS", "", kernels=" with few-row kernels of 16")
    assert one.name == "OpenBLAS with few-row kernels of 16" != blas.BlasReport("OpenBLAS", "").name
