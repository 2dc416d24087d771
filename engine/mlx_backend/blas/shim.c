/* The three CBLAS functions that MLX's CPU backend calls, handed on to the OpenBLAS functions given to
   draftscope_bind. Loaded into the global symbol scope before MLX, this file's names win over the
   reference BLAS inside MLX's wheel, while the OpenBLAS library itself stays in a scope of its own and
   cannot mix with the copy that NumPy brings.

   OpenBLAS's sgemm packs both operands first, which for few rows costs more than the product. So a product
   with one row goes to sgemv, and, where one thread does the work, few rows go to few_rows.h. */
#include <stdatomic.h>
#include <stddef.h>

typedef int blasint;

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void gemm_s(blasint, blasint, blasint, blasint, blasint, blasint, float, const float *, blasint,
                    const float *, blasint, float, float *, blasint);
typedef void gemv_s(blasint, blasint, blasint, blasint, float, const float *, blasint, const float *, blasint,
                    float, float *, blasint);
typedef void gemm_d(blasint, blasint, blasint, blasint, blasint, blasint, double, const double *, blasint,
                    const double *, blasint, double, double *, blasint);
typedef void gemm_c(blasint, blasint, blasint, blasint, blasint, blasint, const void *, const void *, blasint,
                    const void *, blasint, const void *, void *, blasint);

/* Most rows that few_rows.h takes: beyond these the packing of a general product pays. */
enum { FEW = 32 };

typedef void few_rows(ptrdiff_t, ptrdiff_t, ptrdiff_t, float, const float *, ptrdiff_t, const float *, ptrdiff_t,
                      float, float *, ptrdiff_t);

#if defined(__x86_64__) && defined(__GNUC__)
typedef float float4 __attribute__((vector_size(16)));

#define NAME few_avx512
#define TARGET __attribute__((target("avx512f,fma")))
#define WIDTH 16
#define ROWS 6
#define COLUMNS 4
#include "few_rows.h"
#define NAME few_avx2
#define TARGET __attribute__((target("avx2,fma")))
#define WIDTH 8
#define ROWS 3
#define COLUMNS 4
#include "few_rows.h"

static few_rows *widest(int width) {
  __builtin_cpu_init();
  if (width >= 16 && __builtin_cpu_supports("avx512f")) return few_avx512;
  if (width >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return few_avx2;
  return 0;
}
#else
static few_rows *widest(int width) { return 0; }
#endif

static few_rows *few;
static gemm_s *sgemm;
static gemv_s *sgemv;
static gemm_d *dgemm;
static gemm_c *cgemm;
static atomic_ulong calls;

#define EXPORT __attribute__((visibility("default")))

EXPORT void draftscope_bind(gemm_s *s, gemv_s *v, gemm_d *d, gemm_c *c) {
  sgemm = s;
  sgemv = v;
  dgemm = d;
  cgemm = c;
}

/* Let few rows be multiplied here, by registers of at most `width` floats, or not (0). Returns the width that this
   machine then uses. */
EXPORT int draftscope_few_rows(int width) {
  few = widest(width);
#if defined(__x86_64__) && defined(__GNUC__)
  return few == few_avx512 ? 16 : few == few_avx2 ? 8 : 0;
#else
  return 0;
#endif
}

/* How many products came through here: the proof that MLX is really served. */
EXPORT unsigned long draftscope_calls(void) { return atomic_load(&calls); }

/* Row-major, m == 1: C is 1 x n and contiguous. op(B) is k x n, so C' = op(B)' a. A transposed A is stored
   k x 1 with one element every lda. k == 0 never comes here: sgemv returns without scaling C by beta. */
static void one_row(blasint ta, blasint tb, blasint n, blasint k, float alpha, const float *a, blasint lda,
                    const float *b, blasint ldb, float beta, float *c) {
  blasint step = ta == NO_TRANS ? 1 : lda;
  if (tb == NO_TRANS)
    sgemv(ROW_MAJOR, TRANS, k, n, alpha, b, ldb, a, step, beta, c, 1);
  else
    sgemv(ROW_MAJOR, NO_TRANS, n, k, alpha, b, ldb, a, step, beta, c, 1);
}

EXPORT void cblas_sgemm(blasint order, blasint ta, blasint tb, blasint m, blasint n, blasint k, float alpha,
                        const float *a, blasint lda, const float *b, blasint ldb, float beta, float *c,
                        blasint ldc) {
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  if (few && order == ROW_MAJOR && ta == NO_TRANS && tb == TRANS && m > 0 && m <= FEW)
    few(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else if (order == ROW_MAJOR && m == 1 && n > 0 && k > 0)
    one_row(ta, tb, n, k, alpha, a, lda, b, ldb, beta, c);
  else
    sgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

EXPORT void cblas_dgemm(blasint order, blasint ta, blasint tb, blasint m, blasint n, blasint k, double alpha,
                        const double *a, blasint lda, const double *b, blasint ldb, double beta, double *c,
                        blasint ldc) {
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  dgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

EXPORT void cblas_cgemm(blasint order, blasint ta, blasint tb, blasint m, blasint n, blasint k,
                        const void *alpha, const void *a, blasint lda, const void *b, blasint ldb,
                        const void *beta, void *c, blasint ldc) {
  atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
  cgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
