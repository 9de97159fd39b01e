/* Tensors with dimensions that run backwards, in C's order: a view of them would slow all that reads it. */

typedef struct {
    int rank;
    int64_t sizes[DEEPEST], steps[DEEPEST]; /* of the dimensions up to the last that runs backwards; bytes, below zero where they do */
    int64_t block;                          /* bytes that stay together */
    const char *x;
    char *out;
} Reversed;

/* Blocks of so many bytes, from the last to the first. */
INLINED void blocks_back(const char *x, int64_t step, char *out, int64_t count, const size_t block) {
    for (int64_t i = 0; i < count; i++, x += step, out += block) memcpy(out, x, block);
}

/* Pixels of three bytes, five at a time where the processor moves bytes of a vector anywhere. The vector has a byte more, which the next
 * pixels overwrite. */
static void pixels_back(const char *x, int64_t step, char *out, int64_t count) {
    int64_t i = 0;
#if !defined(__clang__) && (defined(__SSSE3__) || defined(__aarch64__))
    typedef uint8_t Bytes __attribute__((vector_size(16)));
    const Bytes from = {13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0};
    for (; step == -3 && i + 6 <= count; i += 5, x -= 15, out += 15) {
        Bytes five;
        memcpy(&five, x - 13, sizeof(five));
        five = __builtin_shuffle(five, from);
        memcpy(out, &five, sizeof(five));
    }
#endif
    blocks_back(x, step, out, count - i, 3);
}

static void reversed_lines(int64_t begin, int64_t count, const void *given) {
    const Reversed *p = given;
    int last = p->rank - 1;
    int64_t line = p->sizes[last], step = p->steps[last];
    for (int64_t i = begin; i < begin + count; i++) {
        const char *from = p->x;
        char *out = p->out + i * line * p->block;
        int64_t rest = i;
        for (int d = last - 1; d >= 0; rest /= p->sizes[d--]) from += rest % p->sizes[d] * p->steps[d];
        switch (p->block) {
        case 1: blocks_back(from, step, out, line, 1); break;
        case 3: pixels_back(from, step, out, line); break;
        case 4: blocks_back(from, step, out, line, 4); break;
        case 8: blocks_back(from, step, out, line, 8); break;
        case 12: blocks_back(from, step, out, line, 12); break;
        case 16: blocks_back(from, step, out, line, 16); break;
        default: blocks_back(from, step, out, line, (size_t)p->block);
        }
    }
}

/* reversed(x, bits, out or nothing): `x` with those dimensions backwards whose bits are set. */
static PyObject *k_reversed(const Call *call) {
    PyArrayObject *x = array_at(call, 0);
    int64_t bits;
    if (!x || !whole_at(call, 1, &bits) || bits < 1 || !PyArray_ISNUMBER(x) || !PyArray_SIZE(x)) return NULL;
    int rank = PyArray_NDIM(x), last = 0;
    if (rank > DEEPEST || bits >> rank) return NULL;
    for (int d = 0; d < rank; d++)
        if (bits >> d & 1) last = d;
    if (left_to_python(call, PyArray_NBYTES(x) / 4)) return NULL;
    PyArrayObject *out = result_at(call, 2, PyArray_TYPE(x), rank, PyArray_DIMS(x));
    if (!out) return NULL;
    if (share_memory(x, out)) {
        Py_DECREF((PyObject *)out);
        return NULL;
    }
    Reversed p = {.rank = last + 1, .x = PyArray_BYTES(x), .out = PyArray_BYTES(out), .block = PyArray_ITEMSIZE(x)};
    for (int d = rank - 1; d > last; d--) p.block *= PyArray_DIM(x, d);
    int64_t step = p.block; /* the strides of a dimension of one element are any */
    for (int d = last; d >= 0; step *= p.sizes[d--]) {
        bool back = bits >> d & 1;
        p.sizes[d] = PyArray_DIM(x, d);
        p.steps[d] = back ? -step : step;
        if (back) p.x += (p.sizes[d] - 1) * step;
    }
    int64_t lines = PyArray_NBYTES(x) / (p.sizes[last] * p.block), each = p.sizes[last] * (p.block / 16 + 2);
    work_through(call, reversed_lines, &p, lines, HELD / each + 1, lines * each);
    return (PyObject *)out;
}
