/* Products of rows with weights that are constants, and have been copied in panels: those of 64 columns are side by side, so that all
 * of them are read in the order in which they lie in memory, and what the next rows of a panel are can be asked for ahead. A few rows
 * take no longer than it takes to read the weights.
 *
 * A sum begins with what it is added to, and is one of so many rows of the weights at a time, whatever else is computed in the call and
 * however many threads share it.
 */

enum { WEIGHT_COLUMNS = 64, WEIGHT_DEPTH = 512, WEIGHTS_AHEAD = 24 };
#if LANE == 16
enum { WEIGHT_ROWS = 6, WEIGHT_LANES = 4 };
#else
enum { WEIGHT_ROWS = 4, WEIGHT_LANES = 2 };
#endif

/* As `panels.py` writes it. */
typedef struct {
    int64_t m, k, n;
    int64_t line;         /* from one row of the result to the next, and of what is added */
    int64_t added, bias;  /* the numbers of those arrays in the call; -1 for none */
    int64_t kept;         /* the address of a bias that is a constant; 0 for none */
    int64_t weights;      /* the address of the panels, each with zeros behind the last column */
} Panels;

typedef struct {
    const float *x, *added, *bias;
    float *y;
    int64_t k, line;
} Multiplied;

/* Adds the products of `depth` rows of the weights to `rows` rows of the result, in `count` columns, which are at most so many lanes. */
INLINED void weigh(const Multiplied *p, const float *b, int64_t depth, int64_t count, bool begins, bool ends, bool far, const int rows) {
    Lane sums[WEIGHT_ROWS][WEIGHT_LANES];
    float some[WEIGHT_LANES * LANE] = {0};
    const float *from = begins ? p->added : p->y;
    const bool whole = count == WEIGHT_LANES * LANE;
    for (int r = 0; r < rows; r++) {
        const float *row = from ? from + r * p->line : some;
        if (from && !whole) {
            memcpy(some, row, (size_t)count * sizeof(float));
            row = some;
        }
        for (int w = 0; w < WEIGHT_LANES; w++) sums[r][w] = *(const Lane *)(row + w * LANE);
    }
    for (int64_t k = 0; k < depth; k++, b += WEIGHT_COLUMNS) {
        Lane lanes[WEIGHT_LANES];
        if (far)
            for (int w = 0; w < WEIGHT_LANES * LANE; w += 16) __builtin_prefetch(b + WEIGHTS_AHEAD * WEIGHT_COLUMNS + w);
        for (int w = 0; w < WEIGHT_LANES; w++) lanes[w] = *(const Lane *)(b + w * LANE);
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)
            for (int w = 0; w < WEIGHT_LANES; w++) sums[r][w] = added(p->x[r * p->k + k], lanes[w], sums[r][w]);
    }
    for (int r = 0; r < rows; r++) {
        float *row = p->y + r * p->line;
        for (int w = 0; w < WEIGHT_LANES; w++) *(Lane *)((whole ? row : some) + w * LANE) = sums[r][w];
        if (!whole) memcpy(row, some, (size_t)count * sizeof(float));
        if (ends && p->bias)
            for (int64_t c = 0; c < count; c++) row[c] += p->bias[c];
    }
}

/* Some rows, of one panel's columns or a part of those. */
static void weigh_rows(Multiplied p, const float *b, int64_t m, int64_t depth, int64_t count, bool begins, bool ends) {
    for (int64_t done = 0, rows; done < m; done += rows) {
        bool far = !done;
        rows = m - done;
#define OF_ROWS(n) weigh(&p, b, depth, count, begins, ends, far, n), rows = n
        if (rows >= WEIGHT_ROWS)
            OF_ROWS(WEIGHT_ROWS);
        else if (rows >= 4)
            OF_ROWS(4);
        else if (rows >= 2)
            OF_ROWS(2);
        else
            OF_ROWS(1);
#undef OF_ROWS
        p.x += rows * p.k;
        p.y += rows * p.line;
        if (p.added) p.added += rows * p.line;
    }
}

/* All of it on the arrays of a call: the first is multiplied, and the last is the result. */
static void multiply_panels(const Panels *p, float *const *arrays, int64_t count) {
    const float *weights = (const float *)(intptr_t)p->weights;
    const float *bias = p->bias < 0 ? (const float *)(intptr_t)p->kept : arrays[p->bias];
    for (int64_t panel = 0; panel < p->n; panel += WEIGHT_COLUMNS)
        for (int64_t k = 0; k < p->k; k += WEIGHT_DEPTH) {
            int64_t depth = p->k - k < WEIGHT_DEPTH ? p->k - k : WEIGHT_DEPTH;
            for (int64_t c = panel; c < panel + WEIGHT_COLUMNS && c < p->n; c += WEIGHT_LANES * LANE) {
                int64_t columns = p->n - c < WEIGHT_LANES * LANE ? p->n - c : WEIGHT_LANES * LANE;
                Multiplied some = {arrays[0] + k, p->added < 0 ? NULL : arrays[p->added] + c, bias ? bias + c : NULL,
                                   arrays[count - 1] + c, p->k, p->line};
                weigh_rows(some, weights + (c - panel), p->m, depth, columns, !k, k + depth == p->k);
            }
            weights += depth * WEIGHT_COLUMNS;
        }
}
