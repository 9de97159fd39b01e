/* The batch normalization of a training step, of float32 with channels last: sums of each channel over pieces of the rows, and one
 * loop for the result.
 *
 * A piece is some thousand elements, whoever computes it, so the result is the same on any number of threads. It may differ from the
 * Python kernel's in the last bits, because the sums are others.
 */

enum { MOST_CHANNELS = 1024, NORM_PIECE = 1 << 13 };

typedef struct {
    int64_t rows, channels, piece;
    const float *x, *mean, *factor, *offset, *dy;
    float *sums, *others, *y;
} Norm;

static inline int64_t piece_end(const Norm *n, int64_t piece) {
    int64_t end = (piece + 1) * n->piece;
    return end < n->rows ? end : n->rows;
}

/* What comes of each row, four rows at a time, is added up for each channel. */
#define CHANNEL_SUMS(into, term)                                                                                                   \
    {                                                                                                                              \
        float held[MOST_CHANNELS];                                                                                                 \
        memset(held, 0, n->channels * sizeof(float));                                                                              \
        int64_t row = piece * n->piece, end = piece_end(n, piece);                                                                 \
        for (; row + 4 <= end; row += 4) {                                                                                         \
            int64_t a = row * n->channels, b = a + n->channels, d = b + n->channels, e = d + n->channels;                          \
            for (int64_t c = 0; c < n->channels; c++) held[c] += (term(a) + term(b)) + (term(d) + term(e));                        \
        }                                                                                                                          \
        for (; row < end; row++) {                                                                                                 \
            int64_t a = row * n->channels;                                                                                         \
            for (int64_t c = 0; c < n->channels; c++) held[c] += term(a);                                                          \
        }                                                                                                                          \
        memcpy(into + piece * n->channels, held, n->channels * sizeof(float));                                                     \
    }

static void channel_sums(int64_t begin, int64_t count, const void *given) {
    const Norm *n = given;
#define TERM(at) n->x[(at) + c]
    for (int64_t piece = begin; piece < begin + count; piece++) CHANNEL_SUMS(n->sums, TERM)
#undef TERM
}

static void channel_squares(int64_t begin, int64_t count, const void *given) {
    const Norm *n = given;
    float mean[MOST_CHANNELS];
    memcpy(mean, n->mean, n->channels * sizeof(float));
#define TERM(at) ((n->x[(at) + c] - mean[c]) * (n->x[(at) + c] - mean[c]))
    for (int64_t piece = begin; piece < begin + count; piece++) CHANNEL_SUMS(n->sums, TERM)
#undef TERM
}

static void normalized(int64_t begin, int64_t count, const void *given) {
    const Norm *n = given;
    float mean[MOST_CHANNELS], factor[MOST_CHANNELS], offset[MOST_CHANNELS];
    memcpy(mean, n->mean, n->channels * sizeof(float));
    memcpy(factor, n->factor, n->channels * sizeof(float));
    memcpy(offset, n->offset, n->channels * sizeof(float));
    for (int64_t row = begin * n->piece, end = piece_end(n, begin + count - 1); row < end; row++) {
        const float *x = n->x + row * n->channels;
        float *y = n->y + row * n->channels;
        _Pragma("GCC ivdep") for (int64_t c = 0; c < n->channels; c++) y[c] = (x[c] - mean[c]) * factor[c] + offset[c];
    }
}

/* The sums of the slopes, and of the slopes times the centred inputs. */
static void slope_sums(int64_t begin, int64_t count, const void *given) {
    const Norm *n = given;
    float mean[MOST_CHANNELS];
    memcpy(mean, n->mean, n->channels * sizeof(float));
#define TERM(at) n->dy[(at) + c]
    for (int64_t piece = begin; piece < begin + count; piece++) CHANNEL_SUMS(n->sums, TERM)
#undef TERM
#define TERM(at) (n->dy[(at) + c] * (n->x[(at) + c] - mean[c]))
    for (int64_t piece = begin; piece < begin + count; piece++) CHANNEL_SUMS(n->others, TERM)
#undef TERM
}

/* factor · (dy - (x - mean) · offset - y's first row), which stands in `sums`. */
static void slopes_back(int64_t begin, int64_t count, const void *given) {
    const Norm *n = given;
    float mean[MOST_CHANNELS], factor[MOST_CHANNELS], along[MOST_CHANNELS], constant[MOST_CHANNELS];
    memcpy(mean, n->mean, n->channels * sizeof(float));
    memcpy(factor, n->factor, n->channels * sizeof(float));
    memcpy(along, n->offset, n->channels * sizeof(float));
    memcpy(constant, n->sums, n->channels * sizeof(float));
    for (int64_t row = begin * n->piece, end = piece_end(n, begin + count - 1); row < end; row++) {
        const float *x = n->x + row * n->channels, *dy = n->dy + row * n->channels;
        float *dx = n->y + row * n->channels;
        _Pragma("GCC ivdep") for (int64_t c = 0; c < n->channels; c++) dx[c] =
            factor[c] * ((dy[c] - constant[c]) - (x[c] - mean[c]) * along[c]);
    }
}

static void add_pieces(const float *sums, int64_t pieces, int64_t channels, float *into) {
    memcpy(into, sums, channels * sizeof(float));
    for (int64_t piece = 1; piece < pieces; piece++)
        for (int64_t c = 0; c < channels; c++) into[c] += sums[piece * channels + c];
}

static bool norm_of(PyArrayObject *x, Norm *n) {
    int rank = x ? PyArray_NDIM(x) : 0;
    if (rank < 2 || !PyArray_SIZE(x)) return false;
    n->channels = PyArray_DIM(x, rank - 1);
    n->rows = PyArray_SIZE(x) / n->channels;
    n->piece = NORM_PIECE / n->channels + 4;
    n->x = PyArray_DATA(x);
    return n->channels <= MOST_CHANNELS;
}

static PyArrayObject *channels_at(const Call *call, int index, const Norm *n) {
    PyArrayObject *vector = typed_at(call, index, NPY_FLOAT32);
    return vector && PyArray_NDIM(vector) == 1 && PyArray_DIM(vector, 0) == n->channels ? vector : NULL;
}

/* batch_norm(x, scale, offset, y, mean, variance, epsilon): fills y, the mean and the biased variance. */
static PyObject *k_batch_norm(const Call *call) {
    Norm n = {0};
    PyArrayObject *x = typed_at(call, 0, NPY_FLOAT32), *y = typed_at(call, 3, NPY_FLOAT32);
    if (call->count != 7 || !norm_of(x, &n) || !y || !same_shape(x, y)) return NULL;
    PyArrayObject *vectors[4];
    static const int at[4] = {1, 2, 4, 5};
    for (int i = 0; i < 4; i++)
        if (!(vectors[i] = channels_at(call, at[i], &n))) return NULL;
    if (!PyFloat_CheckExact(call->args[6]) || left_to_governor(call, 4 * PyArray_SIZE(x))) return NULL;
    float epsilon = (float)PyFloat_AsDouble(call->args[6]), factor[MOST_CHANNELS], *mean = PyArray_DATA(vectors[2]);
    const float *scale = PyArray_DATA(vectors[0]);
    int64_t pieces = (n.rows + n.piece - 1) / n.piece, size = PyArray_SIZE(x);
    n.sums = PyMem_Malloc(pieces * n.channels * sizeof(float));
    if (!n.sums) return PyErr_NoMemory();
    work_through(call, channel_sums, &n, pieces, 1, size);
    add_pieces(n.sums, pieces, n.channels, mean);
    for (int64_t c = 0; c < n.channels; c++) mean[c] /= (float)n.rows;
    n.mean = mean;
    work_through(call, channel_squares, &n, pieces, 1, size);
    float *variance = PyArray_DATA(vectors[3]);
    add_pieces(n.sums, pieces, n.channels, variance);
    for (int64_t c = 0; c < n.channels; c++) {
        variance[c] /= (float)n.rows;
        factor[c] = scale[c] / sqrtf(variance[c] + epsilon);
    }
    n.factor = factor;
    n.offset = PyArray_DATA(vectors[1]);
    n.y = PyArray_DATA(y);
    work_through(call, normalized, &n, pieces, 1, size);
    PyMem_Free(n.sums);
    Py_INCREF((PyObject *)y);
    return (PyObject *)y;
}

/* batch_norm_grad(dy, x, scale, mean, variance, dx, d scale, d offset, epsilon): fills the last three arrays. */
static PyObject *k_batch_norm_grad(const Call *call) {
    Norm n = {0};
    PyArrayObject *dy = typed_at(call, 0, NPY_FLOAT32), *x = typed_at(call, 1, NPY_FLOAT32), *dx = typed_at(call, 5, NPY_FLOAT32);
    if (call->count != 9 || !norm_of(x, &n) || !dy || !dx || !same_shape(x, dy) || !same_shape(x, dx)) return NULL;
    PyArrayObject *vectors[5];
    static const int at[5] = {2, 3, 4, 6, 7};
    for (int i = 0; i < 5; i++)
        if (!(vectors[i] = channels_at(call, at[i], &n))) return NULL;
    if (!PyFloat_CheckExact(call->args[8]) || left_to_governor(call, 4 * PyArray_SIZE(x))) return NULL;
    float epsilon = (float)PyFloat_AsDouble(call->args[8]), factor[MOST_CHANNELS], along[MOST_CHANNELS];
    const float *scale = PyArray_DATA(vectors[0]), *variance = PyArray_DATA(vectors[2]);
    float *to_scale = PyArray_DATA(vectors[3]), *to_offset = PyArray_DATA(vectors[4]);
    int64_t pieces = (n.rows + n.piece - 1) / n.piece, size = PyArray_SIZE(x);
    n.sums = PyMem_Malloc(2 * pieces * n.channels * sizeof(float));
    if (!n.sums) return PyErr_NoMemory();
    n.others = n.sums + pieces * n.channels;
    n.dy = PyArray_DATA(dy);
    n.mean = PyArray_DATA(vectors[1]);
    work_through(call, slope_sums, &n, pieces, 1, 2 * size);
    add_pieces(n.sums, pieces, n.channels, to_offset);
    add_pieces(n.others, pieces, n.channels, to_scale);
    for (int64_t c = 0; c < n.channels; c++) {
        float inverse = 1 / sqrtf(variance[c] + epsilon);
        along[c] = to_scale[c] * inverse * inverse / (float)n.rows;
        factor[c] = scale[c] * inverse;
        to_scale[c] *= inverse;
        n.sums[c] = to_offset[c] / (float)n.rows;
    }
    n.factor = factor;
    n.offset = along;
    n.y = PyArray_DATA(dx);
    work_through(call, slopes_back, &n, pieces, 1, size);
    PyMem_Free(n.sums);
    Py_INCREF((PyObject *)dx);
    return (PyObject *)dx;
}
