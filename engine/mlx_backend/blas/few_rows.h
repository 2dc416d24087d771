/* C = alpha A B' + beta C for few rows of A, row-major, in single precision: the product of a decoding pass.

   A general sgemm first copies B, all the weights, into an order that suits it, which pays back over hundreds of rows.
   Here B is read once, in place, a few of its rows at a time against up to ROWS rows of A, and the next few are
   fetched meanwhile. Up to a dozen rows cost about what one does: the time to read B.

   Each element of C is summed in one order (WIDTH partial sums, folded in halves, then what is left of k), however many
   rows there are: a row of A gets the same bits whatever stands beside it.

   Included once for each instruction set, with NAME, TARGET, WIDTH (floats in a register), ROWS and COLUMNS defined. */

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define VECTOR JOIN(NAME, _vector)
#define FOLD JOIN(NAME, _fold)
#define TILE JOIN(NAME, _tile)
#define BLOCK JOIN(NAME, _block)

typedef float VECTOR __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));

/* The sum of a register: its halves are added until one number is left. */
TARGET static inline __attribute__((always_inline)) float FOLD(VECTOR x) {
  union {
    VECTOR whole;
    float4 quarter[WIDTH / 4];
  } parts = {x};
  for (int half = WIDTH / 8; half > 0; half /= 2)
    for (int w = 0; w < half; w++) parts.quarter[w] += parts.quarter[w + half];
  const float4 last = parts.quarter[0];
  return (last[0] + last[2]) + (last[1] + last[3]);
}

/* rows x columns elements of C; constants where it is inlined, so that the sums stay in registers. */
TARGET static inline __attribute__((always_inline)) void TILE(const int rows, const int columns, const int ahead,
                                                              ptrdiff_t k, const float *a, ptrdiff_t lda,
                                                              const float *b, ptrdiff_t ldb,
                                                              float out[ROWS][COLUMNS]) {
  VECTOR sums[ROWS][COLUMNS];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) sums[i][j] = (VECTOR){0};
  ptrdiff_t l = 0;
  for (; l + WIDTH <= k; l += WIDTH)
    for (int j = 0; j < columns; j++) {
      if (ahead) __builtin_prefetch(b + (j + COLUMNS) * ldb + l, 0, 3);
      const VECTOR y = *(const VECTOR *)(b + j * ldb + l);
      for (int i = 0; i < rows; i++) sums[i][j] += y * *(const VECTOR *)(a + i * lda + l);
    }
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      float sum = FOLD(sums[i][j]);
      for (ptrdiff_t r = l; r < k; r++) sum += a[i * lda + r] * b[j * ldb + r];
      out[i][j] = sum;
    }
}

#define CASE(m, n, p)                                                                                        \
  case ((m) * 8 + (n)) * 2 + (p):                                                                            \
    TILE(m, n, p, k, a, lda, b, ldb, out);                                                                   \
    break;
#define COLUMN_CASES(m)                                                                                      \
  CASE(m, 1, 0) CASE(m, 1, 1) CASE(m, 2, 0) CASE(m, 2, 1) CASE(m, 3, 0) CASE(m, 3, 1) CASE(m, 4, 0) CASE(m, 4, 1)

TARGET static __attribute__((noinline)) void BLOCK(int rows, int columns, int ahead, ptrdiff_t k, const float *a,
                                                   ptrdiff_t lda, const float *b, ptrdiff_t ldb,
                                                   float out[ROWS][COLUMNS]) {
  switch ((rows * 8 + columns) * 2 + ahead) {
    COLUMN_CASES(1)
    COLUMN_CASES(2)
    COLUMN_CASES(3)
#if ROWS > 3
    COLUMN_CASES(4)
    COLUMN_CASES(5)
    COLUMN_CASES(6)
#endif
  }
}

TARGET static void NAME(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda,
                        const float *b, ptrdiff_t ldb, float beta, float *c, ptrdiff_t ldc) {
  float out[ROWS][COLUMNS];
  for (ptrdiff_t j = 0; j < n; j += COLUMNS) {
    const int columns = n - j < COLUMNS ? (int)(n - j) : COLUMNS;
    for (ptrdiff_t i = 0; i < m; i += ROWS) {
      const int rows = m - i < ROWS ? (int)(m - i) : ROWS;
      BLOCK(rows, columns, i == 0, k, a + i * lda, lda, b + j * ldb, ldb, out);
      for (int x = 0; x < rows; x++)
        for (int y = 0; y < columns; y++) {
          float *at = c + (i + x) * ldc + j + y;
          *at = alpha * out[x][y] + (beta == 0 ? 0 : beta * *at);
        }
    }
  }
}

#undef JOIN_
#undef JOIN
#undef VECTOR
#undef FOLD
#undef TILE
#undef BLOCK
#undef CASE
#undef COLUMN_CASES
#undef NAME
#undef TARGET
#undef WIDTH
#undef ROWS
#undef COLUMNS
