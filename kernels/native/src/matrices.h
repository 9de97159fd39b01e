/* What becomes of one small matrix, for one type of elements: `linalg.c` includes this once for each. `NUMBER` is the type, `OF(name)` the
 * name for it, `WIDE` the elements of a lane, and `LESS(a, b, c)` is c - a · b for whole lanes b and c.
 *
 * Rows lie in order, and are as long as whole lanes. What stands behind their ends is computed with, and never read. Functions that
 * give a truth value say with false that the matrix is for the reference: it has no such factor, or numbers leave their range.
 */

typedef NUMBER OF(Row) __attribute__((vector_size(LANE_BYTES), aligned(sizeof(NUMBER))));

enum { OF(WIDTH) = LANE_BYTES / (int)sizeof(NUMBER) };

static inline int64_t OF(rounded)(int64_t count) { return (count + OF(WIDTH) - 1) / OF(WIDTH) * OF(WIDTH); }
static inline int64_t OF(floored)(int64_t count) { return count / OF(WIDTH) * OF(WIDTH); }

/* Some lanes of `into` minus the sum of rows, each times its factor. Few lanes have several sums each, since one waits for its last. */
INLINED void OF(lessened_lanes)(NUMBER *into, const NUMBER *factors, int64_t step, const NUMBER *rows, int64_t line, int64_t terms,
                                const int lanes, const int ways) {
    OF(Row) sums[4][4] = {{{0}}};
    for (int l = 0; l < lanes; l++) sums[0][l] = *(const OF(Row) *)(into + l * OF(WIDTH));
    int64_t t = 0;
    for (; t + ways <= terms; t += ways)
        for (int w = 0; w < ways; w++)
            for (int l = 0; l < lanes; l++)
                sums[w][l] = LESS(factors[(t + w) * step], *(const OF(Row) *)(rows + (t + w) * line + l * OF(WIDTH)), sums[w][l]);
    for (; t < terms; t++)
        for (int l = 0; l < lanes; l++)
            sums[0][l] = LESS(factors[t * step], *(const OF(Row) *)(rows + t * line + l * OF(WIDTH)), sums[0][l]);
    for (int l = 0; l < lanes; l++) {
        for (int w = 1; w < ways; w++) sums[0][l] += sums[w][l];
        *(OF(Row) *)(into + l * OF(WIDTH)) = sums[0][l];
    }
}

/* The same for a row of `size` elements, which are whole lanes. */
static void OF(lessened)(NUMBER *into, const NUMBER *factors, int64_t step, const NUMBER *rows, int64_t line, int64_t terms, int64_t size) {
    if (!terms) return;
    int64_t at = 0;
    for (; at + 4 * OF(WIDTH) <= size; at += 4 * OF(WIDTH)) OF(lessened_lanes)(into + at, factors, step, rows + at, line, terms, 4, 1);
    if (at + 2 * OF(WIDTH) <= size) {
        OF(lessened_lanes)(into + at, factors, step, rows + at, line, terms, 2, 2);
        at += 2 * OF(WIDTH);
    }
    if (at < size) OF(lessened_lanes)(into + at, factors, step, rows + at, line, terms, 1, 4);
}

static inline void OF(scaled)(NUMBER *row, NUMBER factor, int64_t size) {
    for (int64_t i = 0; i < size; i += OF(WIDTH)) *(OF(Row) *)(row + i) *= factor;
}

static inline void OF(cleared)(NUMBER *row, int64_t size) {
    for (int64_t i = 0; i < size; i += OF(WIDTH)) *(OF(Row) *)(row + i) = (OF(Row)){0};
}

static bool OF(finite)(const NUMBER *x, int64_t count) {
    bool all = true;
    for (int64_t i = 0; i < count; i++) all &= x[i] - x[i] == 0;
    return all;
}

/* Rows of a matrix of any shape, or its columns, as rows of whole lanes. */
static void OF(loaded)(const NUMBER *x, int64_t rows, int64_t columns, bool turned, NUMBER *into, int64_t line) {
    int64_t size = OF(rounded)(columns);
    for (int64_t i = 0; i < rows; i++, into += line) {
        OF(Row) last = {0};
        if (size) *(OF(Row) *)(into + size - OF(WIDTH)) = last;
        if (turned)
            for (int64_t j = 0; j < columns; j++) into[j] = x[j * rows + i];
        else
            for (int64_t j = 0; j < columns; j++) into[j] = x[i * columns + j];
    }
}

static void OF(stored)(const NUMBER *x, int64_t line, int64_t rows, int64_t columns, NUMBER *out) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) out[i * columns + j] = x[i * line + j];
}

/* ---- Cholesky */

/* The transpose of the factor is made row by row: its rows are the factor's columns. */
static bool OF(cholesky)(const NUMBER *x, int64_t n, NUMBER *out) {
    NUMBER u[SIDE_MOST * SIDE_MOST];
    int64_t line = OF(rounded)(n);
    for (int64_t k = 0; k < n; k++) {
        int64_t first = OF(floored)(k);
        NUMBER *row = u + k * line;
        OF(cleared)(row + first, line - first);
        for (int64_t j = k; j < n; j++) row[j] = x[j * n + k];
        OF(lessened)(row + first, u + k, line, u + first, line, k, line - first);
        if (!(row[k] > 0)) return false;
        NUMBER root = SQRT(row[k]);
        OF(scaled)(row + first, 1 / root, line - first);
        row[k] = root;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) out[i * n + j] = u[j * line + i];
        for (int64_t j = i + 1; j < n; j++) out[i * n + j] = 0;
    }
    return OF(finite)(out, n * n);
}

/* ---- substitution */

/* X with triangle · X = right for an n × n triangle, of which one side is read where it lies, or that of its transpose. */
static bool OF(triangular)(const NUMBER *x, const NUMBER *right, int64_t n, int64_t columns, bool lower, bool turned, NUMBER *out) {
    NUMBER y[SIDE_MOST * SIDE_MOST];
    bool down = lower != turned;
    int64_t step = turned ? n : 1, next = turned ? 1 : n;
    for (int64_t i = 0; i < n; i++)
        if (x[i * n + i] == 0) return false;
    for (int64_t from = 0; from < columns; from += SIDE_MOST) {
        int64_t some = columns - from < SIDE_MOST ? columns - from : SIDE_MOST, line = OF(rounded)(some);
        for (int64_t turn = 0; turn < n; turn++) {
            int64_t i = down ? turn : n - 1 - turn, first = down ? 0 : i + 1;
            NUMBER *row = y + i * line;
            *(OF(Row) *)(row + line - OF(WIDTH)) = (OF(Row)){0};
            for (int64_t j = 0; j < some; j++) row[j] = right[i * columns + from + j];
            OF(lessened)(row, x + i * next + first * step, step, y + first * line, line, turn, line);
            for (int64_t j = 0; j < line; j += OF(WIDTH)) *(OF(Row) *)(row + j) /= x[i * n + i];
            for (int64_t j = 0; j < some; j++) out[i * columns + from + j] = row[j];
        }
    }
    return OF(finite)(out, n * columns);
}

/* ---- elimination */

/* The n columns that come first become an upper triangle, by the largest pivot of each column, and the columns behind them go with it.
 * Rows are exchanged an odd number of times where `odd` says so. */
static bool OF(eliminated)(NUMBER *a, int64_t line, int64_t n, bool *odd) {
    *odd = false;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k, first = OF(floored)(k), below = n - k - 1;
        NUMBER most = ABS(a[k * line + k]), factors[SIDE_MOST];
        for (int64_t i = k + 1; i < n; i++) {
            NUMBER size = ABS(a[i * line + k]);
            if (size > most) most = size, best = i;
        }
        if (!(most >= LEAST_NORMAL)) return false;
        NUMBER *pivot = a + k * line, *rest = pivot + line;
        if (best != k) {
            NUMBER *other = a + best * line;
            for (int64_t j = first; j < line; j += OF(WIDTH)) {
                OF(Row) kept = *(OF(Row) *)(pivot + j);
                *(OF(Row) *)(pivot + j) = *(OF(Row) *)(other + j);
                *(OF(Row) *)(other + j) = kept;
            }
            *odd = !*odd;
        }
        NUMBER inverse = 1 / pivot[k];
        for (int64_t i = 0; i < below; i++) factors[i] = rest[i * line + k] * inverse;
        for (int64_t j = first; j < line; j += OF(WIDTH)) {
            OF(Row) row = *(OF(Row) *)(pivot + j);
            for (int64_t i = 0; i < below; i++)
                *(OF(Row) *)(rest + i * line + j) = LESS(factors[i], row, *(OF(Row) *)(rest + i * line + j));
        }
    }
    return true;
}

/* X with matrix · X = right, or with its transpose; without `right` the inverse. */
static bool OF(solved)(const NUMBER *x, const NUMBER *right, int64_t n, int64_t columns, bool turned, NUMBER *out) {
    NUMBER a[2 * SIDE_MOST * SIDE_MOST];
    int64_t behind = OF(rounded)(n), size = OF(rounded)(columns), line = behind + size;
    bool odd;
    OF(loaded)(x, n, n, turned, a, line);
    if (right)
        OF(loaded)(right, n, columns, false, a + behind, line);
    else
        for (int64_t i = 0; i < n; i++) {
            OF(cleared)(a + i * line + behind, size);
            a[i * line + behind + i] = 1;
        }
    if (!OF(eliminated)(a, line, n, &odd)) return false;
    for (int64_t i = n - 1; i >= 0; i--) {
        NUMBER *row = a + i * line + behind, pivot = a[i * line + i];
        OF(lessened)(row, a + i * line + i + 1, 1, row + line, line, n - 1 - i, size);
        for (int64_t j = 0; j < size; j += OF(WIDTH)) *(OF(Row) *)(row + j) /= pivot;
    }
    OF(stored)(a + behind, line, n, columns, out);
    return OF(finite)(out, n * columns);
}

/* The determinant; or its sign, and the logarithm of its absolute value. */
static bool OF(determinant)(const NUMBER *x, int64_t n, NUMBER *out, NUMBER *logarithm) {
    NUMBER a[SIDE_MOST * SIDE_MOST];
    int64_t line = OF(rounded)(n);
    bool odd;
    OF(loaded)(x, n, n, false, a, line);
    if (!OF(eliminated)(a, line, n, &odd)) return false;
    double all = odd ? -1 : 1, sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double pivot = a[i * line + i];
        all *= logarithm && pivot < 0 ? -1 : logarithm ? 1 : pivot;
        if (logarithm) sum += log(fabs(pivot));
        if (!(fabs(all) > 1e-290 && fabs(all) < 1e290)) return false;
    }
    *out = (NUMBER)all;
    if (logarithm) *logarithm = (NUMBER)sum;
    return OF(finite)(out, 1) && (!logarithm || OF(finite)(logarithm, 1));
}

/* ---- reflections */

/* The reflection that leaves the first of `count` elements alone: 1 - tau · v · vᵀ. Gives that element. */
static bool OF(reflection)(const NUMBER *x, int64_t step, int64_t count, NUMBER *v, NUMBER *tau, NUMBER *left) {
    double tail = 0, first = x[0];
    for (int64_t i = 1; i < count; i++) tail += (double)x[i * step] * x[i * step];
    if (!(tail + first * first < 1e290) || (tail && tail < 1e-290)) return false;
    v[0] = 1;
    *tau = 0;
    *left = x[0];
    for (int64_t i = 1; i < count; i++) v[i] = 0;
    if (!tail) return true;
    double beta = -copysign(sqrt(first * first + tail), first), divisor = 1 / (first - beta);
    for (int64_t i = 1; i < count; i++) v[i] = (NUMBER)(x[i * step] * divisor);
    *tau = (NUMBER)((beta - first) / beta);
    *left = (NUMBER)beta;
    return true;
}

/* Rows of `size` elements, reflected. */
static void OF(reflected)(NUMBER *rows, int64_t line, const NUMBER *v, NUMBER tau, int64_t count, int64_t size) {
    NUMBER sums[SIDE_MOST];
    if (tau == 0) return;
    OF(cleared)(sums, size);
    OF(lessened)(sums, v, 1, rows, line, count, size);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < size; j += OF(WIDTH))
            *(OF(Row) *)(rows + i * line + j) = LESS(-tau * v[i], *(OF(Row) *)(sums + j), *(OF(Row) *)(rows + i * line + j));
}

/* The product of `count` reflections, each of which begins `skip` rows further down than its number. */
static void OF(product_of)(NUMBER *q, int64_t rows, int64_t columns, const NUMBER *v, const NUMBER *taus, int64_t count, int64_t skip) {
    int64_t line = OF(rounded)(columns);
    for (int64_t i = 0; i < rows; i++) {
        OF(cleared)(q + i * line, line);
        if (i < columns) q[i * line + i] = 1;
    }
    for (int64_t k = count - 1; k >= 0; k--) {
        int64_t at = k + skip, first = OF(floored)(at);
        OF(reflected)(q + at * line + first, line, v + k * SIDE_MOST, taus[k], rows - at, line - first);
    }
}

/* The factors of a matrix: `side` columns of Q, and as many rows of R. */
static bool OF(qr)(const NUMBER *x, int64_t rows, int64_t columns, int64_t side, NUMBER *q_out, NUMBER *r_out) {
    NUMBER a[SIDE_MOST * SIDE_MOST], v[SIDE_MOST * SIDE_MOST], taus[SIDE_MOST];
    int64_t line = OF(rounded)(columns), least = rows < columns ? rows : columns;
    OF(loaded)(x, rows, columns, false, a, line);
    for (int64_t k = 0; k < least; k++) {
        NUMBER left, *corner = a + k * line + k, *reflector = v + k * SIDE_MOST;
        int64_t first = OF(floored)(k + 1);
        if (!OF(reflection)(corner, line, rows - k, reflector, taus + k, &left)) return false;
        if (first < line) OF(reflected)(a + k * line + first, line, reflector, taus[k], rows - k, line - first);
        *corner = left;
    }
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < columns; j++) r_out[i * columns + j] = j >= i ? a[i * line + j] : 0;
    OF(product_of)(a, rows, side, v, taus, least, 0);
    OF(stored)(a, OF(rounded)(side), rows, side, q_out);
    return OF(finite)(r_out, side * columns) && OF(finite)(q_out, rows * side);
}

/* ---- eigenvalues of self-adjoint matrices */

/* Reflections bring the matrix to three diagonals, of which `d` and `e` are two. */
static bool OF(tridiagonal)(NUMBER *a, int64_t n, double *d, double *e, NUMBER *v, NUMBER *taus) {
    int64_t line = OF(rounded)(n);
    for (int64_t k = 0; k + 1 < n; k++) {
        NUMBER left, *reflector = v + k * SIDE_MOST, whole[SIDE_MOST], w[SIDE_MOST];
        int64_t first = OF(floored)(k + 1), size = line - first, lead = k + 1 - first, below = n - k - 1;
        if (!OF(reflection)(a + k * line + k + 1, 1, below, reflector, taus + k, &left)) return false;
        d[k] = a[k * line + k];
        e[k] = left;
        if (taus[k] == 0) continue;
        OF(cleared)(whole, size);
        OF(cleared)(w, size);
        for (int64_t i = 0; i < below; i++) whole[lead + i] = reflector[i];
        NUMBER *block = a + (k + 1) * line + first;
        OF(lessened)(w, reflector, 1, block, line, below, size);
        OF(scaled)(w, -taus[k], size);
        double inner = 0;
        for (int64_t i = 0; i < below; i++) inner += (double)w[lead + i] * reflector[i];
        NUMBER half = (NUMBER)(inner * taus[k] / 2);
        for (int64_t j = 0; j < size; j += OF(WIDTH)) *(OF(Row) *)(w + j) = LESS(half, *(OF(Row) *)(whole + j), *(OF(Row) *)(w + j));
        for (int64_t i = 0; i < below; i++)
            for (int64_t j = 0; j < size; j += OF(WIDTH)) {
                OF(Row) *place = (OF(Row) *)(block + i * line + j);
                *place = LESS(w[lead + i], *(OF(Row) *)(whole + j), LESS(reflector[i], *(OF(Row) *)(w + j), *place));
            }
    }
    d[n - 1] = a[n * line - line + n - 1];
    return true;
}

static void OF(rotated)(NUMBER *one, NUMBER *other, NUMBER c, NUMBER s, int64_t size) {
    for (int64_t j = 0; j < size; j += OF(WIDTH)) {
        OF(Row) x = *(OF(Row) *)(one + j), y = *(OF(Row) *)(other + j);
        *(OF(Row) *)(one + j) = c * x + s * y;
        *(OF(Row) *)(other + j) = c * y - s * x;
    }
}

/* Implicit steps with Wilkinson's shifts until the side diagonal is nothing. The rows of `z` go with them; NULL for none. */
static bool OF(diagonal)(double *d, double *e, int64_t n, NUMBER *z, int64_t line) {
    int64_t high = n - 1;
    for (int64_t left = 40 * n; high > 0;) {
        int64_t low = high;
        for (; low > 0; low--) {
            if (fabs(e[low - 1]) > SMALLEST_PART * (fabs(d[low - 1]) + fabs(d[low]))) continue;
            e[low - 1] = 0;
            break;
        }
        if (low == high) {
            high--;
            continue;
        }
        if (!left--) return false;
        double apart = (d[high - 1] - d[high]) / 2, edge = e[high - 1];
        double shift = d[high] - edge * edge / (apart + copysign(sqrt(apart * apart + edge * edge), apart));
        double x = d[low] - shift, bulge = e[low];
        for (int64_t k = low; k < high; k++) {
            double size = sqrt(x * x + bulge * bulge), c = size > 0 ? x / size : 1, s = size > 0 ? bulge / size : 0;
            double a = d[k], b = e[k], g = d[k + 1];
            if (k > low) e[k - 1] = size;
            d[k] = c * c * a + 2 * c * s * b + s * s * g;
            d[k + 1] = s * s * a - 2 * c * s * b + c * c * g;
            e[k] = c * s * (g - a) + (c * c - s * s) * b;
            if (k + 1 < high) {
                x = e[k];
                bulge = s * e[k + 1];
                e[k + 1] *= c;
            }
            if (z) OF(rotated)(z + k * line, z + (k + 1) * line, (NUMBER)c, (NUMBER)s, line);
        }
    }
    return true;
}

/* The eigenvalues in order, and the vectors as columns; NULL for none. The lower triangle is read. */
static bool OF(eigh)(const NUMBER *x, int64_t n, NUMBER *values, NUMBER *vectors) {
    NUMBER a[SIDE_MOST * SIDE_MOST], v[SIDE_MOST * SIDE_MOST], z[SIDE_MOST * SIDE_MOST], taus[SIDE_MOST];
    double d[SIDE_MOST], e[SIDE_MOST], most = 0;
    int64_t line = OF(rounded)(n);
    for (int64_t i = 0; i < n; i++) {
        OF(cleared)(a + i * line, line);
        for (int64_t j = 0; j <= i; j++) {
            NUMBER value = x[i * n + j];
            a[i * line + j] = value;
            a[j * line + i] = value;
            if (!(fabs((double)value) <= most)) most = fabs((double)value);
        }
    }
    if (!(most < EIGEN_MOST) || (most && most < 1 / EIGEN_MOST)) return false;
    if (!OF(tridiagonal)(a, n, d, e, v, taus)) return false;
    if (vectors) {
        OF(product_of)(a, n, n, v, taus, n - 1, 1);
        for (int64_t i = 0; i < n; i++) {
            OF(cleared)(z + i * line, line);
            for (int64_t j = 0; j < n; j++) z[i * line + j] = a[j * line + i];
        }
    }
    if (!OF(diagonal)(d, e, n, vectors ? z : NULL, line)) return false;
    int64_t order[SIDE_MOST];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && d[order[at - 1]] > d[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int64_t i = 0; i < n; i++) values[i] = (NUMBER)d[order[i]];
    for (int64_t i = 0; vectors && i < n; i++)
        for (int64_t j = 0; j < n; j++) vectors[i * n + j] = z[order[j] * line + i];
    return OF(finite)(values, n) && (!vectors || OF(finite)(vectors, n * n));
}
