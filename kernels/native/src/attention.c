/* Attention, softmax(scale · q kᵀ + bias) v for each head, and products of heads by themselves.
 *
 * Attention is products of `product.c` around a softmax of some rows at a time, whose scores stay in the cache.
 *
 * A head's queries, keys and values are rows that lie apart, as they come out of one product for all heads, so none is copied
 * beforehand. The result lies in the same way, [batch, row, head, element], and is given as a view with the heads first.
 */

enum {
    ATTENTION_ROWS = 64,
    ATTENTION_FLOPS = 16,     /* that count as one element where work is divided, */
    ATTENTION_LEAST = 1 << 14 /* which Python sees by the size of an argument */
};

typedef struct {
    const float *data;
    int64_t batch, head, row, inner; /* elements from one to the next */
} Heads;

typedef struct {
    Heads query, key, value, bias; /* a bias has a number for each row and each key, which is `inner` */
    float *out;
    int64_t batches, heads, rows, keys, size, width; /* of a query, and of a value */
    int64_t shared, blocks;                          /* heads that have one key and value; blocks of rows of each head */
    float scale;
    int *failed;
} Attention;

static inline int64_t whole_lanes(int64_t count) { return (count + LANE - 1) / LANE * LANE; }

static inline const float *of_head(const Heads *h, int64_t batch, int64_t head) { return h->data + batch * h->batch + head * h->head; }

/* A copy with rows of whole lanes; element (i, k) of it is that of row k where it is `turned`. */
static void copy_rows(const float *from, int64_t row, int64_t inner, int64_t rows, int64_t columns, float *into, int64_t wide) {
    for (int64_t i = 0; i < rows; i++) {
        if (inner == 1)
            memcpy(into + i * wide, from + i * row, (size_t)columns * sizeof(float));
        else
            for (int64_t k = 0; k < columns; k++) into[i * wide + k] = from[i * row + k * inner];
        for (int64_t k = columns; k < whole_lanes(columns); k++) into[i * wide + k] = 0;
    }
}

/* The same for rows that become columns: `columns` of them, with `rows` elements that lie together. */
static void turn_rows(const float *from, int64_t step, int64_t rows, int64_t columns, float *into, int64_t wide) {
    int64_t done = columns / LANE * LANE;
    for (int64_t k = 0; k < done; k += LANE) {
        const float *block = from + k * step;
        int64_t i = 0;
        for (; i + LANE <= rows; i += LANE) turn_block(block + i, step, into + i * wide + k, wide);
        for (; i < rows; i++)
            for (int j = 0; j < LANE; j++) into[i * wide + k + j] = block[j * step + i];
    }
    if (done < wide) copy_rows(from + done * step, 1, step, rows, columns - done, into + done, wide);
}

/* Turns scores into shares that are not yet divided by their sum, and gives one over that. */
static float shares_of(const Attention *a, float *scores, const float *bias) {
    int64_t count = a->keys;
    if (!bias)
        for (int64_t i = 0; i < count; i++) scores[i] = scores[i] * a->scale;
    else if (a->bias.inner == 1)
        for (int64_t i = 0; i < count; i++) scores[i] = scores[i] * a->scale + bias[i];
    else
        for (int64_t i = 0; i < count; i++) scores[i] = scores[i] * a->scale + bias[i * a->bias.inner];
    powers_f4(scores, largest_f4_of_row(scores, count), scores, count);
    return 1.0f / (float)lanes_f4(scores, count);
}

static void attention_blocks(int64_t begin, int64_t count, const void *given) {
    const Attention *a = given;
    int64_t keys = whole_lanes(a->keys), width = whole_lanes(a->width);
    bool copies = width != a->width || a->value.inner != 1;
    size_t numbers = (size_t)(a->size * keys + ATTENTION_ROWS * keys + (copies ? a->keys * width : 0));
    float *packed = malloc(numbers * sizeof(float));
    if (!packed) {
        __atomic_store_n(a->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    float *scores = packed + a->size * keys, *values = scores + ATTENTION_ROWS * keys;
    int64_t held = -1;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t both = i / a->blocks, head = both % a->heads, batch = both / a->heads, first = i % a->blocks * ATTENTION_ROWS;
        int64_t rows = a->rows - first < ATTENTION_ROWS ? a->rows - first : ATTENTION_ROWS;
        const float *value = of_head(&a->value, batch, head / a->shared);
        if (held != both / a->shared) {
            const float *key = of_head(&a->key, batch, head / a->shared);
            if (a->key.inner == 1 && a->key.row != 1)
                turn_rows(key, a->key.row, a->size, a->keys, packed, keys);
            else
                copy_rows(key, a->key.inner, a->key.row, a->size, a->keys, packed, keys);
            if (copies) copy_rows(value, a->value.row, a->value.inner, a->keys, a->width, values, width);
            held = both / a->shared;
        }
        Product scored = {.a = of_head(&a->query, batch, head) + first * a->query.row, .b = packed, .c = scores, .m = rows, .n = a->keys,
                          .k = a->size, .a_row = a->query.row, .a_inner = a->query.inner, .b_row = keys, .c_row = keys};
        multiplied(&scored);
        float inverse[ATTENTION_ROWS];
        const float *bias = a->bias.data ? of_head(&a->bias, batch, head) + first * a->bias.row : NULL;
        for (int64_t r = 0; r < rows; r++) inverse[r] = shares_of(a, scores + r * keys, bias ? bias + r * a->bias.row : NULL);
        int64_t line = a->heads * a->width;
        float *out = a->out + (batch * a->rows + first) * line + head * a->width;
        Product summed = {.a = scores, .b = copies ? values : value, .c = out, .m = rows, .n = a->width, .k = a->keys, .a_row = keys,
                          .a_inner = 1, .b_row = copies ? width : a->value.row, .c_row = line};
        multiplied(&summed);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t k = 0; k < a->width; k++) out[r * line + k] *= inverse[r];
    }
    free(packed);
}

/* An argument of rank 3 or 4 in any order of elements, as heads, and its sizes from the batch on. */
static bool heads_at(const Call *call, Py_ssize_t index, Heads *heads, int64_t sizes[4]) {
    PyArrayObject *x = (PyArrayObject *)call->args[index];
    if (Py_TYPE(call->args[index]) != &PyArray_Type || PyArray_TYPE(x) != NPY_FLOAT32) return false;
    int rank = PyArray_NDIM(x);
    if (rank > 4 || !PyArray_ISALIGNED(x) || !PyArray_ISNOTSWAPPED(x)) return false;
    int64_t steps[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++) sizes[i] = 1;
    int skipped = rank == 3 ? 1 : -1; /* there is one head then */
    for (int i = rank - 1, at = 3; i >= 0; i--, at--) {
        if (at == skipped) at--;
        sizes[at] = PyArray_DIM(x, i);
        steps[at] = sizes[at] == 1 ? 0 : PyArray_STRIDE(x, i) / (int64_t)sizeof(float);
    }
    heads->data = PyArray_DATA(x);
    heads->batch = steps[0], heads->head = steps[1], heads->row = steps[2], heads->inner = steps[3] || sizes[3] != 1 ? steps[3] : 1;
    return true;
}

/* A view of [batch, row, head, element] with the heads before the rows, which takes the reference over. */
static PyObject *heads_first(PyObject *out) {
    npy_intp order[4] = {0, 2, 1, 3};
    PyArray_Dims axes = {order, 4};
    PyObject *view = PyArray_Transpose((PyArrayObject *)out, &axes);
    Py_DECREF(out);
    return view;
}

/* attention(query, key, value, bias or None, scale, whether keys are columns): keys and values may belong to several heads in a row. */
static PyObject *k_attention(const Call *call) {
    Attention a = {0};
    int64_t q[4], k[4], v[4], b[4];
    if (call->count != 6 || !heads_at(call, 0, &a.query, q) || !heads_at(call, 1, &a.key, k) || !heads_at(call, 2, &a.value, v)) return NULL;
    int rank = PyArray_NDIM((PyArrayObject *)call->args[0]);
    for (int i = 0; i < 3; i++)
        if (PyArray_NDIM((PyArrayObject *)call->args[i]) != rank || rank < 3) return NULL;
    if (call->args[5] == Py_True) {
        int64_t step = a.key.row, size = k[2];
        a.key.row = a.key.inner, a.key.inner = step, k[2] = k[3], k[3] = size;
    }
    if (!float_at(call, 4, &a.scale) || a.query.inner != 1) return NULL;
    a.batches = q[0], a.heads = q[1], a.rows = q[2], a.size = q[3], a.keys = k[2], a.width = v[3];
    if (!a.batches || !a.heads || !a.rows || !a.size || !a.keys || !a.width) return NULL;
    if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || !k[1] || q[1] % k[1] || k[3] != q[3] || v[2] != k[2]) return NULL;
    a.shared = q[1] / k[1];
    if (call->args[3] != Py_None) {
        PyArrayObject *bias = (PyArrayObject *)call->args[3];
        if (!heads_at(call, 3, &a.bias, b) || PyArray_NDIM(bias) == 7 - rank) return NULL;
        int64_t whole[4] = {a.batches, a.heads, a.rows, a.keys};
        for (int i = 0; i < 4; i++)
            if (b[i] != 1 && b[i] != whole[i]) return NULL;
        if (b[3] == 1) a.bias.inner = 0;
    }
    int64_t work = 2 * a.batches * a.heads * a.rows * a.keys * (a.size + a.width);
    bool seen = PyArray_SIZE((PyArrayObject *)call->args[0]) >= ATTENTION_LEAST;
    if (seen && left_to_python(call, work / ATTENTION_FLOPS)) return NULL;
    npy_intp sizes[4] = {a.batches, a.rows, a.heads, a.width};
    npy_intp flat[3] = {a.batches, a.rows, a.width};
    PyArrayObject *out = rank == 4 ? fresh(NPY_FLOAT32, 4, sizes) : fresh(NPY_FLOAT32, 3, flat);
    if (!out) return NULL;
    int failed = 0;
    a.out = PyArray_DATA(out), a.failed = &failed, a.blocks = (a.rows + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
    work_through(call, attention_blocks, &a, a.batches * a.heads * a.blocks, 1, work);
    if (failed) {
        Py_DECREF((PyObject *)out);
        return PyErr_NoMemory();
    }
    return rank == 3 ? (PyObject *)out : heads_first((PyObject *)out);
}

/* ---- products of heads */

typedef struct {
    Heads x, y; /* x [m, k] and y [k, n] of each head */
    float *out;
    int64_t heads, m, k, n, blocks;
    int64_t out_batch, out_head, out_row;
    bool copies;
    int *failed;
} HeadProducts;

static void head_products(int64_t begin, int64_t count, const void *given) {
    const HeadProducts *p = given;
    int64_t wide = whole_lanes(p->n), held = -1;
    float *packed = p->copies ? malloc((size_t)(p->k * wide) * sizeof(float)) : NULL;
    if (p->copies && !packed) {
        __atomic_store_n(p->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t both = i / p->blocks, head = both % p->heads, batch = both / p->heads, first = i % p->blocks * ATTENTION_ROWS;
        const float *y = of_head(&p->y, batch, head);
        if (p->copies && held != both) {
            if (p->y.row == 1)
                turn_rows(y, p->y.inner, p->k, p->n, packed, wide);
            else
                copy_rows(y, p->y.row, p->y.inner, p->k, p->n, packed, wide);
            held = both;
        }
        Product one = {.a = of_head(&p->x, batch, head) + first * p->x.row, .b = p->copies ? packed : y,
                       .c = p->out + batch * p->out_batch + head * p->out_head + first * p->out_row,
                       .m = p->m - first < ATTENTION_ROWS ? p->m - first : ATTENTION_ROWS, .n = p->n, .k = p->k, .a_row = p->x.row,
                       .a_inner = p->x.inner, .b_row = p->copies ? wide : p->y.row, .c_row = p->out_row};
        multiplied(&one);
    }
    free(packed);
}

/* Whether no element of an array in any order lies where one of `out` does, which is in C's order. */
static bool lies_apart(PyArrayObject *x, PyArrayObject *out) {
    const char *low = PyArray_BYTES(x), *high = low + PyArray_ITEMSIZE(x);
    for (int i = 0; i < PyArray_NDIM(x); i++) *(PyArray_STRIDE(x, i) < 0 ? &low : &high) += (PyArray_DIM(x, i) - 1) * PyArray_STRIDE(x, i);
    return high <= PyArray_BYTES(out) || PyArray_BYTES(out) + PyArray_NBYTES(out) <= low;
}

static void turn_heads(Heads *h, int64_t sizes[4]) {
    int64_t step = h->row, size = sizes[2];
    h->row = h->inner, h->inner = step, sizes[2] = sizes[3], sizes[3] = size;
}

/* head_products(x, y, x turned, y turned, out or None): products of matrices of rank 3 or 4. If the rows of y have the heads between
 * them, as they come out of one product for all heads, so have those of the result, which the next such product takes as they are. */
static PyObject *k_head_products(const Call *call) {
    HeadProducts p = {0};
    int64_t x[4], y[4];
    if (call->count != 5 || !heads_at(call, 0, &p.x, x) || !heads_at(call, 1, &p.y, y)) return NULL;
    PyArrayObject *left = (PyArrayObject *)call->args[0], *right = (PyArrayObject *)call->args[1];
    int rank = PyArray_NDIM(left);
    if (rank < 3 || PyArray_NDIM(right) != rank) return NULL;
    bool between = p.y.row > p.y.head && y[1] > 1 && p.y.head > 0 && call->args[3] != Py_True;
    if (call->args[2] == Py_True) turn_heads(&p.x, x);
    if (call->args[3] == Py_True) turn_heads(&p.y, y);
    if (x[0] != y[0] || x[1] != y[1] || x[3] != y[2] || !PyArray_SIZE(left) || !PyArray_SIZE(right)) return NULL;
    p.heads = x[1], p.m = x[2], p.k = x[3], p.n = y[3];
    int64_t work = x[0] * p.heads * p.m * p.k * p.n / PRODUCTS_OF_ONE;
    bool seen = PyArray_SIZE(left) >= ATTENTION_LEAST || PyArray_SIZE(right) >= ATTENTION_LEAST;
    if (seen && left_to_python(call, work)) return NULL;
    npy_intp sizes[4] = {x[0], p.heads, p.m, p.n}, flat[3] = {x[0], p.m, p.n};
    PyArrayObject *out = result_at(call, 4, NPY_FLOAT32, rank, rank == 4 ? sizes : flat);
    if (!out) return NULL;
    if (!lies_apart(left, out) || !lies_apart(right, out)) return Py_DECREF((PyObject *)out), NULL;
    int failed = 0;
    p.out = PyArray_DATA(out), p.failed = &failed, p.blocks = (p.m + ATTENTION_ROWS - 1) / ATTENTION_ROWS;
    p.copies = p.y.inner != 1 || p.n % LANE;
    p.out_batch = p.heads * p.m * p.n;
    p.out_head = between ? p.n : p.m * p.n;
    p.out_row = between ? p.heads * p.n : p.n;
    work_through(call, head_products, &p, x[0] * p.heads * p.blocks, 1, work);
    if (failed) return Py_DECREF((PyObject *)out), PyErr_NoMemory();
    if (!between) return (PyObject *)out;
    npy_intp rows[4] = {x[0], p.m, p.heads, p.n};
    PyArray_Dims lying = {rows, 4};
    PyObject *memory = PyArray_Newshape(out, &lying, NPY_CORDER);
    Py_DECREF((PyObject *)out);
    return memory ? heads_first(memory) : NULL;
}

/* ---- positions as rotations */

typedef struct {
    Heads x, cosines, sines;
    int64_t heads, rows, half;
    float *out;
} Rotary;

static void rotary_rows(int64_t begin, int64_t count, const void *given) {
    const Rotary *r = given;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t row = i % r->rows, head = i / r->rows % r->heads, batch = i / r->rows / r->heads, half = r->half;
        const float *x = of_head(&r->x, batch, head) + row * r->x.row;
        const float *c = of_head(&r->cosines, batch, head) + row * r->cosines.row, *s = of_head(&r->sines, batch, head) + row * r->sines.row;
        float *out = r->out + 2 * half * i;
        for (int64_t k = 0; k < half; k++) out[k] = x[k] * c[k] + -x[half + k] * s[k];
        for (int64_t k = half; k < 2 * half; k++) out[k] = x[k] * c[k] + x[k - half] * s[k];
    }
}

/* rotary(x, cosines, sines): x · cosines + its halves in the other order, the new first one negated, · sines. */
static PyObject *k_rotary(const Call *call) {
    Rotary r;
    int64_t whole[4], c[4], s[4];
    if (call->count != 3 || !heads_at(call, 0, &r.x, whole) || !heads_at(call, 1, &r.cosines, c) || !heads_at(call, 2, &r.sines, s)) return NULL;
    if (PyArray_NDIM((PyArrayObject *)call->args[0]) != 4 || r.x.inner != 1 || whole[3] % 2) return NULL;
    for (int i = 1; i < 3; i++)
        if (PyArray_NDIM((PyArrayObject *)call->args[i]) == 3) return NULL;
    for (int i = 0; i < 3; i++)
        if ((c[i] != 1 && c[i] != whole[i]) || (s[i] != 1 && s[i] != whole[i]) || !whole[i]) return NULL;
    if (c[3] != whole[3] || s[3] != whole[3] || r.cosines.inner != 1 || r.sines.inner != 1 || !whole[3]) return NULL;
    npy_intp sizes[4] = {whole[0], whole[1], whole[2], whole[3]};
    int64_t elements = whole[0] * whole[1] * whole[2] * whole[3];
    if (left_to_python(call, elements)) return NULL;
    PyArrayObject *out = fresh(NPY_FLOAT32, 4, sizes);
    if (!out) return NULL;
    r.heads = whole[1], r.rows = whole[2], r.half = whole[3] / 2, r.out = PyArray_DATA(out);
    work_through(call, rotary_rows, &r, elements / whole[3], (1 << 13) / whole[3] + 1, 3 * elements);
    return (PyObject *)out;
}
