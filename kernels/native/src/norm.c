/* Batch normalization of float32 with channels last, with the activation behind it: by the batch's own moments, by stored ones, and the
 * gradient of the first.
 *
 * Sums of each channel are those of pieces of the rows. A piece is some thousand elements, whoever computes it, so the result is the same
 * on any number of threads. It may differ from the Python kernel's in the last bits, because the sums are others. Channels are taken a
 * group at a time, whose sums stay in registers; where a few fill a group, several rows make one.
 */

enum { MOST_CHANNELS = 1024, NORM_PIECE = 1 << 13, GROUP = 64, VECTORS = GROUP * sizeof(float) / sizeof(Lanes), IN_VECTOR = GROUP / VECTORS };
enum { NO_ACTIVATION, RELU, RELU6, ACTIVATIONS };

typedef struct {
    int64_t rows, channels, piece; /* of groups, where several rows make one */
    int64_t repeats;               /* how many rows those are */
    int activation;
    const float *x, *dy, *y;
    float *sums, *others, *out;
    float mean[MOST_CHANNELS], factor[MOST_CHANNELS], shift[MOST_CHANNELS], constant[MOST_CHANNELS];
} Norm;

static inline int64_t piece_end(const Norm *n, int64_t piece) {
    int64_t end = (piece + 1) * n->piece;
    return end < n->rows ? end : n->rows;
}

INLINED float activated(float y, const int activation) {
    if (activation != NO_ACTIVATION) y = y > 0 || y != y ? y : 0;
    if (activation == RELU6) y = y < 6 || y != y ? y : 6;
    return y;
}

/* A slope behind an activation whose result was y. */
INLINED float slope(float dy, float y, const int activation) {
    if (activation == NO_ACTIVATION) return dy;
    return dy * (y > 0 && (activation != RELU6 || y < 6) ? 1.0f : 0.0f);
}

INLINED void slopes_of(const float *dy, const float *y, const int activation, Lanes *into) {
    *into = *(const Lanes *)dy;
    if (activation == NO_ACTIVATION) return;
    Lanes made = *(const Lanes *)y, one = (Lanes){0} + 1.0f;
    Bits passes = (Bits)(made > 0.0f);
    if (activation == RELU6) passes &= (Bits)(made < 6.0f);
    *into *= (Lanes)(passes & (Bits)one);
}

#define EACH_PIECE for (int64_t piece = begin; piece < begin + count; piece++)
#define EACH_GROUP for (; c + GROUP <= n->channels; c += GROUP)
#define EACH_OF_PIECE for (int64_t row = piece * n->piece, end = piece_end(n, piece); row < end; row++)
#define KEPT(into, sums)                                                                                                           \
    for (int k = 0; k < VECTORS; k++) *(Lanes *)(into + piece * n->channels + c + k * IN_VECTOR) = sums[k];

/* The sums of each piece, and those of the squares around the piece's own mean, while its rows are in the cache. */
static void channel_moments(int64_t begin, int64_t count, const void *given) {
    const Norm *n = given;
    EACH_PIECE {
        int64_t c = 0;
        float share = 1 / (float)(piece_end(n, piece) - piece * n->piece);
        EACH_GROUP {
            Lanes sums[VECTORS] = {{0}}, squares[VECTORS] = {{0}};
            EACH_OF_PIECE for (int k = 0; k < VECTORS; k++) sums[k] += *(const Lanes *)(n->x + row * n->channels + c + k * IN_VECTOR);
            KEPT(n->sums, sums)
            for (int k = 0; k < VECTORS; k++) sums[k] *= share;
            EACH_OF_PIECE for (int k = 0; k < VECTORS; k++) {
                Lanes centred = *(const Lanes *)(n->x + row * n->channels + c + k * IN_VECTOR) - sums[k];
                squares[k] += centred * centred;
            }
            KEPT(n->others, squares)
        }
        if (c == n->channels) continue;
        float *rest = n->sums + piece * n->channels, *other = n->others + piece * n->channels;
        for (int64_t i = c; i < n->channels; i++) rest[i] = other[i] = 0;
        EACH_OF_PIECE for (int64_t i = c; i < n->channels; i++) rest[i] += n->x[row * n->channels + i];
        EACH_OF_PIECE for (int64_t i = c; i < n->channels; i++) {
            float centred = n->x[row * n->channels + i] - rest[i] * share;
            other[i] += centred * centred;
        }
    }
}

/* The sums of the slopes, and of the slopes times the centred inputs. */
INLINED void sums_of_slopes(const Norm *n, int64_t begin, int64_t count, const int activation) {
    EACH_PIECE {
        int64_t c = 0;
        EACH_GROUP {
            Lanes sums[VECTORS] = {{0}}, others[VECTORS] = {{0}}, mean[VECTORS];
            memcpy(mean, n->mean + c, sizeof(mean));
            EACH_OF_PIECE for (int k = 0; k < VECTORS; k++) {
                int64_t at = row * n->channels + c + k * IN_VECTOR;
                Lanes slopes;
                slopes_of(n->dy + at, n->y + at, activation, &slopes);
                sums[k] += slopes;
                others[k] += slopes * (*(const Lanes *)(n->x + at) - mean[k]);
            }
            KEPT(n->sums, sums)
            KEPT(n->others, others)
        }
        if (c == n->channels) continue;
        float *rest = n->sums + piece * n->channels, *other = n->others + piece * n->channels;
        for (int64_t i = c; i < n->channels; i++) rest[i] = other[i] = 0;
        EACH_OF_PIECE for (int64_t i = c; i < n->channels; i++) {
            int64_t at = row * n->channels + i;
            float one = slope(n->dy[at], activation ? n->y[at] : 0, activation);
            rest[i] += one;
            other[i] += one * (n->x[at] - n->mean[i]);
        }
    }
}

/* activation((x - mean) · factor + shift) */
INLINED void rows_normalized(const Norm *n, int64_t begin, int64_t count, const int activation) {
    for (int64_t row = begin * n->piece, end = piece_end(n, begin + count - 1); row < end; row++) {
        const float *x = n->x + row * n->channels;
        float *y = n->out + row * n->channels;
        _Pragma("GCC ivdep") for (int64_t c = 0; c < n->channels; c++) y[c] =
            activated((x[c] - n->mean[c]) * n->factor[c] + n->shift[c], activation);
    }
}

/* factor · (slope - constant - (x - mean) · shift) */
INLINED void slopes_back(const Norm *n, int64_t begin, int64_t count, const int activation) {
    for (int64_t row = begin * n->piece, end = piece_end(n, begin + count - 1); row < end; row++) {
        int64_t at = row * n->channels;
        const float *x = n->x + at, *dy = n->dy + at, *y = activation ? n->y + at : dy;
        float *dx = n->out + at;
        _Pragma("GCC ivdep") for (int64_t c = 0; c < n->channels; c++) dx[c] =
            n->factor[c] * ((slope(dy[c], y[c], activation) - n->constant[c]) - (x[c] - n->mean[c]) * n->shift[c]);
    }
}

/* One part for each activation. */
#define FOR_ACTIVATIONS(name, work)                                                                                                \
    static void name##_plain(int64_t begin, int64_t count, const void *given) { work(given, begin, count, NO_ACTIVATION); }        \
    static void name##_relu(int64_t begin, int64_t count, const void *given) { work(given, begin, count, RELU); }                  \
    static void name##_relu6(int64_t begin, int64_t count, const void *given) { work(given, begin, count, RELU6); }                \
    static const Part name[ACTIVATIONS] = {name##_plain, name##_relu, name##_relu6};

FOR_ACTIVATIONS(slope_parts, sums_of_slopes)
FOR_ACTIVATIONS(normal_parts, rows_normalized)
FOR_ACTIVATIONS(back_parts, slopes_back)

static int64_t pieces_of(const Norm *n) { return (n->rows + n->piece - 1) / n->piece; }

/* The sums of all pieces, for each of the array's own channels. */
static void add_pieces(const Norm *n, const float *sums, float *into) {
    int64_t own = n->channels / n->repeats;
    memset(into, 0, (size_t)own * sizeof(float));
    for (int64_t piece = 0; piece < pieces_of(n); piece++)
        for (int64_t r = 0; r < n->repeats; r++)
            for (int64_t c = 0; c < own; c++) into[c] += sums[piece * n->channels + r * own + c];
}

/* The sums of squares around the mean of all rows: those of each piece, and what its own mean is off. */
static void add_squares(const Norm *n, const float *mean, float *into) {
    int64_t own = n->channels / n->repeats;
    memset(into, 0, (size_t)own * sizeof(float));
    for (int64_t piece = 0; piece < pieces_of(n); piece++) {
        float rows = (float)(piece_end(n, piece) - piece * n->piece);
        for (int64_t r = 0; r < n->repeats; r++) {
            const float *sums = n->sums + piece * n->channels + r * own, *squares = n->others + piece * n->channels + r * own;
            for (int64_t c = 0; c < own; c++) {
                float off = sums[c] / rows - mean[c];
                into[c] += squares[c] + off * off * rows;
            }
        }
    }
}

/* A number of each channel, for all rows of a group. */
static void repeated(const Norm *n, const float *from, float *into) {
    int64_t own = n->channels / n->repeats;
    for (int64_t r = 0; r < n->repeats; r++) memmove(into + r * own, from, (size_t)own * sizeof(float));
}

static bool norm_of(PyArrayObject *x, Norm *n) {
    int rank = x ? PyArray_NDIM(x) : 0;
    if (rank < 2 || !PyArray_SIZE(x)) return false;
    n->channels = PyArray_DIM(x, rank - 1);
    if (n->channels > MOST_CHANNELS) return false;
    n->rows = PyArray_SIZE(x) / n->channels;
    n->repeats = GROUP % n->channels == 0 && n->rows % (GROUP / n->channels) == 0 ? GROUP / n->channels : 1;
    n->rows /= n->repeats;
    n->channels *= n->repeats;
    n->piece = NORM_PIECE / n->channels + 4;
    n->x = PyArray_DATA(x);
    return true;
}

static PyArrayObject *channels_at(const Call *call, int index, const Norm *n) {
    PyArrayObject *vector = typed_at(call, index, NPY_FLOAT32);
    return vector && PyArray_NDIM(vector) == 1 && PyArray_DIM(vector, 0) == n->channels / n->repeats ? vector : NULL;
}

static bool vectors_at(const Call *call, int count, const int *at, const Norm *n, float **into) {
    for (int i = 0; i < count; i++) {
        PyArrayObject *vector = channels_at(call, at[i], n);
        if (!vector) return false;
        into[i] = PyArray_DATA(vector);
    }
    return true;
}

static bool activation_at(const Call *call, int index, Norm *n) {
    int64_t found;
    if (!whole_at(call, index, &found) || found < 0 || found >= ACTIVATIONS) return false;
    n->activation = (int)found;
    return true;
}

/* What becomes of an element: from moments of each channel, whose copies may be among the arrays that are filled. */
static void normalize(const Call *call, Norm *n, const float *scale, const float *offset, const float *mean, const float *variance,
                      float epsilon, int64_t size) {
    int64_t own = n->channels / n->repeats;
    for (int64_t c = 0; c < own; c++) n->factor[c] = scale[c] / sqrtf(variance[c] + epsilon);
    repeated(n, n->factor, n->factor);
    repeated(n, mean, n->mean);
    repeated(n, offset, n->shift);
    work_through(call, normal_parts[n->activation], n, pieces_of(n), 1, size);
}

/* batch_norm(x, scale, offset, y, mean, variance, epsilon, activation): fills y, the mean and the biased variance. */
static PyObject *k_batch_norm(const Call *call) {
    Norm n = {0};
    PyArrayObject *x = typed_at(call, 0, NPY_FLOAT32), *y = typed_at(call, 3, NPY_FLOAT32);
    float *vectors[4];
    static const int at[4] = {1, 2, 4, 5};
    if (call->count != 8 || !norm_of(x, &n) || !y || !same_shape(x, y) || !vectors_at(call, 4, at, &n, vectors)) return NULL;
    if (!activation_at(call, 7, &n) || !PyFloat_CheckExact(call->args[6])) return NULL;
    int64_t size = PyArray_SIZE(x), own = n.channels / n.repeats;
    if (left_to_python(call, 4 * size)) return NULL;
    float *mean = vectors[2], *variance = vectors[3], count = (float)(n.rows * n.repeats);
    n.sums = PyMem_Malloc(2 * pieces_of(&n) * n.channels * sizeof(float));
    if (!n.sums) return PyErr_NoMemory();
    n.others = n.sums + pieces_of(&n) * n.channels;
    work_through(call, channel_moments, &n, pieces_of(&n), 1, 2 * size);
    add_pieces(&n, n.sums, mean);
    for (int64_t c = 0; c < own; c++) mean[c] /= count;
    add_squares(&n, mean, variance);
    for (int64_t c = 0; c < own; c++) variance[c] /= count;
    n.out = PyArray_DATA(y);
    normalize(call, &n, vectors[0], vectors[1], mean, variance, (float)PyFloat_AsDouble(call->args[6]), size);
    PyMem_Free(n.sums);
    Py_INCREF((PyObject *)y);
    return (PyObject *)y;
}

/* batch_norm_by(x, scale, offset, y, mean, variance, epsilon, activation): fills y, by moments that are given. */
static PyObject *k_batch_norm_by(const Call *call) {
    Norm n = {0};
    PyArrayObject *x = typed_at(call, 0, NPY_FLOAT32), *y = typed_at(call, 3, NPY_FLOAT32);
    float *vectors[4];
    static const int at[4] = {1, 2, 4, 5};
    if (call->count != 8 || !norm_of(x, &n) || !y || !same_shape(x, y) || !vectors_at(call, 4, at, &n, vectors)) return NULL;
    if (!activation_at(call, 7, &n) || !PyFloat_CheckExact(call->args[6]) || left_to_python(call, PyArray_SIZE(x))) return NULL;
    n.out = PyArray_DATA(y);
    float epsilon = (float)PyFloat_AsDouble(call->args[6]);
    normalize(call, &n, vectors[0], vectors[1], vectors[2], vectors[3], epsilon, PyArray_SIZE(x));
    Py_INCREF((PyObject *)y);
    return (PyObject *)y;
}

/* batch_norm_grad(dy, x, scale, mean, variance, dx, d scale, d offset, epsilon, y or None, activation): fills the three gradients. `y`
 * is what the activation has made, and may be None without one. */
static PyObject *k_batch_norm_grad(const Call *call) {
    Norm n = {0};
    PyArrayObject *dy = typed_at(call, 0, NPY_FLOAT32), *x = typed_at(call, 1, NPY_FLOAT32), *dx = typed_at(call, 5, NPY_FLOAT32);
    float *vectors[5];
    static const int at[5] = {2, 3, 4, 6, 7};
    if (call->count != 11 || !norm_of(x, &n) || !dy || !dx || !same_shape(x, dy) || !same_shape(x, dx)) return NULL;
    if (!vectors_at(call, 5, at, &n, vectors) || !activation_at(call, 10, &n) || !PyFloat_CheckExact(call->args[8])) return NULL;
    PyArrayObject *y = typed_at(call, 9, NPY_FLOAT32);
    if (n.activation && !(y && same_shape(x, y))) return NULL;
    int64_t size = PyArray_SIZE(x), own = n.channels / n.repeats;
    if (left_to_python(call, 4 * size)) return NULL;
    float epsilon = (float)PyFloat_AsDouble(call->args[8]), count = (float)(n.rows * n.repeats);
    const float *scale = vectors[0], *variance = vectors[2];
    float *to_scale = vectors[3], *to_offset = vectors[4];
    n.sums = PyMem_Malloc(2 * pieces_of(&n) * n.channels * sizeof(float));
    if (!n.sums) return PyErr_NoMemory();
    n.others = n.sums + pieces_of(&n) * n.channels;
    n.dy = PyArray_DATA(dy);
    n.y = n.activation ? PyArray_DATA(y) : n.dy;
    n.out = PyArray_DATA(dx);
    repeated(&n, vectors[1], n.mean);
    work_through(call, slope_parts[n.activation], &n, pieces_of(&n), 1, 2 * size);
    add_pieces(&n, n.sums, to_offset);
    add_pieces(&n, n.others, to_scale);
    for (int64_t c = 0; c < own; c++) {
        float inverse = 1 / sqrtf(variance[c] + epsilon);
        n.shift[c] = to_scale[c] * inverse * inverse / count;
        n.factor[c] = scale[c] * inverse;
        n.constant[c] = to_offset[c] / count;
        to_scale[c] *= inverse;
    }
    repeated(&n, n.shift, n.shift);
    repeated(&n, n.factor, n.factor);
    repeated(&n, n.constant, n.constant);
    work_through(call, back_parts[n.activation], &n, pieces_of(&n), 1, size);
    PyMem_Free(n.sums);
    Py_INCREF((PyObject *)dx);
    return (PyObject *)dx;
}
