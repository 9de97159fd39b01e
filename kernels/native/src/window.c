/* Windows over images with channels last, of float32: maxima with their gradients, and convolutions of each channel by itself.
 *
 * Channels are taken some at a time, so that what belongs to a window stays in registers. Maxima are those of the Python kernels: a
 * NaN is a window's maximum, and of several maxima the first has the gradient.
 */

enum { CHANNELS = 16, WINDOW_PIECE = 1 << 15 };

/* max_pool(x, y, ...), max_pool_grad(x, y, dy, dx, ...): images, windows, how far they move, and how far the first ones lie outside. */
typedef struct {
    int64_t height, width, rows, columns, channels, high, wide, down, right, top, left;
    const float *x, *y, *dy;
    float *out;
} Pool;

static inline const float *window_at(const Pool *p, int64_t row, int64_t column) {
    int64_t image = row / p->rows, top = image * p->height + (row - image * p->rows) * p->down;
    return p->x + (top * p->width + column * p->right) * p->channels;
}

#define STAYS(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b))

INLINED void maxima(const Pool *p, const float *x, float *y, int64_t high, int64_t wide, const int64_t some) {
    float best[CHANNELS];
    memcpy(best, x, some * sizeof(float));
    for (int64_t i = 0; i < high; i++)
        for (int64_t j = 0; j < wide; j++) {
            const float *other = x + (i * p->width + j) * p->channels;
            for (int64_t k = 0; k < some; k++) best[k] = STAYS(best[k], other[k]);
        }
    memcpy(y, best, some * sizeof(float));
}

/* The same for a whole group of channels, in vectors. */
typedef float Lanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t Bits __attribute__((vector_size(64), aligned(4), may_alias));

INLINED void group_maxima(const Pool *p, const float *x, float *y, int64_t high, int64_t wide) {
    Lanes best = *(const Lanes *)x;
    for (int64_t i = 0; i < high; i++)
        for (int64_t j = i ? 0 : 1; j < wide; j++) {
            Lanes other = *(const Lanes *)(x + (i * p->width + j) * p->channels);
            Bits stays = (Bits)(best >= other) | (Bits)(best != best);
            best = (Lanes)((stays & (Bits)best) | (~stays & (Bits)other));
        }
    *(Lanes *)y = best;
}

/* The part of a window that lies inside: its first element, and how many follow. */
static inline int64_t clipped(int64_t first, int64_t window, int64_t size, int64_t *count) {
    int64_t begin = first < 0 ? 0 : first, end = first + window < size ? first + window : size;
    *count = end - begin;
    return begin;
}

static void pool_rows(int64_t begin, int64_t count, const void *given) {
    const Pool *p = given;
    for (int64_t row = begin; row < begin + count; row++) {
        int64_t image = row / p->rows, high, wide;
        int64_t top = clipped((row - image * p->rows) * p->down - p->top, p->high, p->height, &high);
        for (int64_t column = 0; column < p->columns; column++) {
            int64_t left = clipped(column * p->right - p->left, p->wide, p->width, &wide), c = 0;
            const float *x = p->x + ((image * p->height + top) * p->width + left) * p->channels;
            float *y = p->out + (row * p->columns + column) * p->channels;
            for (; c + CHANNELS <= p->channels; c += CHANNELS) group_maxima(p, x + c, y + c, high, wide);
            if (c < p->channels) maxima(p, x + c, y + c, high, wide, p->channels - c);
        }
    }
}

INLINED void slopes(const Pool *p, const float *x, float *dx, const float *y, const float *dy, const int64_t some) {
    int32_t free[CHANNELS];
    for (int64_t k = 0; k < some; k++) free[k] = -1;
    for (int64_t i = 0; i < p->high; i++)
        for (int64_t j = 0; j < p->wide; j++) {
            int64_t at = (i * p->width + j) * p->channels;
            for (int64_t k = 0; k < some; k++) {
                int32_t mine = free[k] & -(int32_t)(x[at + k] == y[k]);
                free[k] ^= mine;
                dx[at + k] = mine ? dy[k] : 0;
            }
        }
}

INLINED void group_slopes(const Pool *p, const float *x, float *dx, const float *y, const float *dy) {
    Lanes most = *(const Lanes *)y;
    Bits slope = *(const Bits *)dy, taken = {0};
    for (int64_t i = 0; i < p->high; i++)
        for (int64_t j = 0; j < p->wide; j++) {
            int64_t at = (i * p->width + j) * p->channels;
            Bits mine = (Bits)(*(const Lanes *)(x + at) == most) & ~taken;
            taken |= mine;
            *(Bits *)(dx + at) = mine & slope;
        }
}

static void pool_slopes(int64_t begin, int64_t count, const void *given) {
    const Pool *p = given;
    for (int64_t row = begin; row < begin + count; row++)
        for (int64_t column = 0; column < p->columns; column++) {
            const float *x = window_at(p, row, column);
            float *dx = p->out + (x - p->x);
            int64_t at = (row * p->columns + column) * p->channels, c = 0;
            for (; c + CHANNELS <= p->channels; c += CHANNELS)
                group_slopes(p, x + c, dx + c, p->y + at + c, p->dy + at + c);
            if (c < p->channels) slopes(p, x + c, dx + c, p->y + at + c, p->dy + at + c, p->channels - c);
        }
}

static PyArrayObject *images_at(const Call *call, int index) {
    PyArrayObject *x = typed_at(call, index, NPY_FLOAT32);
    return x && PyArray_NDIM(x) == 4 && PyArray_SIZE(x) ? x : NULL;
}

/* The numbers from one argument on. */
static bool numbers_at(const Call *call, int index, int count, int64_t *into) {
    for (int i = 0; i < count; i++)
        if (!whole_at(call, index + i, into + i)) return false;
    return true;
}

/* The window's height and width, how far it moves, and how far the first one lies outside. A part of each window lies inside. */
static bool pool_of(PyArrayObject *x, PyArrayObject *y, const int64_t *window, Pool *p) {
    for (int i = 0; i < 4; i++)
        if (window[i] < 1) return false;
    *p = (Pool){PyArray_DIM(x, 1), PyArray_DIM(x, 2), PyArray_DIM(y, 1), PyArray_DIM(y, 2), PyArray_DIM(x, 3), window[0], window[1],
                window[2], window[3], window[4], window[5], PyArray_DATA(x), PyArray_DATA(y), NULL, NULL};
    if (PyArray_DIM(y, 0) != PyArray_DIM(x, 0) || PyArray_DIM(y, 3) != p->channels) return false;
    if (p->top < 0 || p->left < 0 || p->top >= p->high || p->left >= p->wide) return false;
    return (p->rows - 1) * p->down - p->top < p->height && (p->columns - 1) * p->right - p->left < p->width;
}

static bool lie_inside(const Pool *p) {
    return (p->rows - 1) * p->down + p->high <= p->height && (p->columns - 1) * p->right + p->wide <= p->width;
}

/* max_pool(x, y, high, wide, down, right, top, left): fills `y`. */
static PyObject *k_max_pool(const Call *call) {
    PyArrayObject *x = images_at(call, 0), *y = images_at(call, 1);
    int64_t window[6];
    Pool p;
    if (!x || !y || !PyArray_ISWRITEABLE(y) || !numbers_at(call, 2, 6, window) || !pool_of(x, y, window, &p)) return NULL;
    int64_t size = PyArray_SIZE(x), rows = PyArray_DIM(x, 0) * p.rows;
    if (left_to_python(call, 2 * size)) return NULL;
    p.out = PyArray_DATA(y);
    work_through(call, pool_rows, &p, rows, WINDOW_PIECE * rows / size + 1, size);
    Py_INCREF((PyObject *)y);
    return (PyObject *)y;
}

/* max_pool_grad(x, y, dy, dx, high, wide): windows side by side; the caller has filled what lies outside of them. */
static PyObject *k_max_pool_grad(const Call *call) {
    PyArrayObject *x = images_at(call, 0), *y = images_at(call, 1), *dy = images_at(call, 2), *dx = images_at(call, 3);
    int64_t window[6] = {0};
    Pool p;
    if (!x || !y || !dy || !dx || !same_shape(y, dy) || !same_shape(x, dx) || !PyArray_ISWRITEABLE(dx)) return NULL;
    if (!numbers_at(call, 4, 2, window) || share_memory(x, dx)) return NULL;
    window[2] = window[0];
    window[3] = window[1];
    int64_t size = PyArray_SIZE(x);
    if (!pool_of(x, y, window, &p) || !lie_inside(&p) || left_to_python(call, 2 * size)) return NULL;
    p.dy = PyArray_DATA(dy);
    p.out = PyArray_DATA(dx);
    int64_t rows = PyArray_DIM(x, 0) * p.rows;
    work_through(call, pool_slopes, &p, rows, WINDOW_PIECE * rows / size + 1, size);
    Py_INCREF((PyObject *)dx);
    return (PyObject *)dx;
}

/* ---- depthwise convolutions with one filter for each channel
 *
 * depthwise(x, w, y, down, right, top, left, dilation down, dilation right), and the same for the gradients, with y's slopes: to x,
 * and to w, of which each image gives its own sum. */

typedef struct {
    int64_t images, height, width, rows, columns, channels, high, wide;
    int64_t down, right, top, left, far_down, far_right;
    const float *x, *w, *y;
    float *out;
} Depthwise;

/* The taps of a window of which one end lies outside: those from `*from` up to the number that is given back lie inside. */
static inline int64_t inside(int64_t first, int64_t step, int64_t taps, int64_t size, int64_t *from) {
    int64_t begin = first < 0 ? (-first + step - 1) / step : 0, end = size > first ? (size - first + step - 1) / step : 0;
    *from = begin;
    return end < taps ? end : taps;
}

INLINED void depthwise_some(const Depthwise *d, const float *image, float *y, int64_t row, int64_t column, int64_t c,
                                  const int64_t some) {
    float sums[CHANNELS] = {0};
    int64_t i, j0, top = row * d->down - d->top, left = column * d->right - d->left;
    int64_t last = inside(top, d->far_down, d->high, d->height, &i), right = inside(left, d->far_right, d->wide, d->width, &j0);
    for (; i < last; i++)
        for (int64_t j = j0; j < right; j++) {
            const float *x = image + ((top + i * d->far_down) * d->width + left + j * d->far_right) * d->channels + c;
            const float *w = d->w + (i * d->wide + j) * d->channels + c;
            for (int64_t k = 0; k < some; k++) sums[k] = fused(x[k], w[k], sums[k]);
        }
    memcpy(y, sums, some * sizeof(float));
}

static void depthwise_rows(int64_t begin, int64_t count, const void *given) {
    const Depthwise *d = given;
    for (int64_t at = begin; at < begin + count; at++) {
        int64_t image = at / d->rows, row = at % d->rows, c = 0;
        const float *x = d->x + image * d->height * d->width * d->channels;
        float *y = d->out + at * d->columns * d->channels;
        for (; c + CHANNELS <= d->channels; c += CHANNELS)
            for (int64_t column = 0; column < d->columns; column++)
                depthwise_some(d, x, y + column * d->channels + c, row, column, c, CHANNELS);
        for (int64_t column = 0; c < d->channels && column < d->columns; column++)
            depthwise_some(d, x, y + column * d->channels + c, row, column, c, d->channels - c);
    }
}

/* The slopes of one image: each window gives its own to what it has seen. */
static void depthwise_to_images(int64_t begin, int64_t count, const void *given) {
    const Depthwise *d = given;
    for (int64_t image = begin; image < begin + count; image++) {
        float *dx = d->out + image * d->height * d->width * d->channels;
        const float *dy = d->y + image * d->rows * d->columns * d->channels;
        memset(dx, 0, d->height * d->width * d->channels * sizeof(float));
        for (int64_t row = 0; row < d->rows; row++)
            for (int64_t column = 0; column < d->columns; column++, dy += d->channels) {
                int64_t i, j0, top = row * d->down - d->top, left = column * d->right - d->left;
                int64_t last = inside(top, d->far_down, d->high, d->height, &i);
                int64_t right = inside(left, d->far_right, d->wide, d->width, &j0);
                for (; i < last; i++)
                    for (int64_t j = j0; j < right; j++) {
                        float *into = dx + ((top + i * d->far_down) * d->width + left + j * d->far_right) * d->channels;
                        const float *w = d->w + (i * d->wide + j) * d->channels;
                        _Pragma("GCC ivdep") for (int64_t c = 0; c < d->channels; c++) into[c] = fused(dy[c], w[c], into[c]);
                    }
            }
    }
}

/* The sums of one image, for each tap and channel. */
static void depthwise_to_weights(int64_t begin, int64_t count, const void *given) {
    const Depthwise *d = given;
    int64_t taps = d->high * d->wide * d->channels;
    for (int64_t image = begin; image < begin + count; image++) {
        const float *x = d->x + image * d->height * d->width * d->channels;
        const float *dy = d->y + image * d->rows * d->columns * d->channels;
        float *dw = d->out + image * taps;
        memset(dw, 0, taps * sizeof(float));
        for (int64_t row = 0; row < d->rows; row++)
            for (int64_t column = 0; column < d->columns; column++, dy += d->channels) {
                int64_t i, j0, top = row * d->down - d->top, left = column * d->right - d->left;
                int64_t last = inside(top, d->far_down, d->high, d->height, &i);
                int64_t right = inside(left, d->far_right, d->wide, d->width, &j0);
                for (; i < last; i++)
                    for (int64_t j = j0; j < right; j++) {
                        const float *seen = x + ((top + i * d->far_down) * d->width + left + j * d->far_right) * d->channels;
                        float *into = dw + (i * d->wide + j) * d->channels;
                        _Pragma("GCC ivdep") for (int64_t c = 0; c < d->channels; c++) into[c] = fused(dy[c], seen[c], into[c]);
                    }
            }
    }
}

static bool depthwise_of(const Call *call, PyArrayObject *x, PyArrayObject *w, PyArrayObject *y, Depthwise *d) {
    int64_t how[6];
    if (!numbers_at(call, 3, 6, how) || PyArray_DIM(w, 3) != 1 || PyArray_DIM(w, 2) != PyArray_DIM(x, 3)) return false;
    if (PyArray_DIM(y, 0) != PyArray_DIM(x, 0) || PyArray_DIM(y, 3) != PyArray_DIM(x, 3)) return false;
    if (how[0] < 1 || how[1] < 1 || how[2] < 0 || how[3] < 0 || how[4] < 1 || how[5] < 1) return false;
    *d = (Depthwise){PyArray_DIM(x, 0), PyArray_DIM(x, 1), PyArray_DIM(x, 2), PyArray_DIM(y, 1), PyArray_DIM(y, 2),
                     PyArray_DIM(x, 3), PyArray_DIM(w, 0), PyArray_DIM(w, 1), how[0], how[1], how[2], how[3], how[4], how[5],
                     PyArray_DATA(x), PyArray_DATA(w), PyArray_DATA(y), NULL};
    return true;
}

static inline int64_t depthwise_work(const Depthwise *d) {
    return d->images * d->rows * d->columns * d->channels * d->high * d->wide / 4;
}

static PyObject *k_depthwise(const Call *call) {
    PyArrayObject *x = images_at(call, 0), *w = images_at(call, 1), *y = images_at(call, 2);
    Depthwise d;
    if (!x || !w || !y || !PyArray_ISWRITEABLE(y) || share_memory(x, y) || !depthwise_of(call, x, w, y, &d)) return NULL;
    if (left_to_python(call, depthwise_work(&d))) return NULL;
    d.out = PyArray_DATA(y);
    work_through(call, depthwise_rows, &d, d.images * d.rows, WINDOW_PIECE / (d.columns * d.channels) + 1, depthwise_work(&d));
    Py_INCREF((PyObject *)y);
    return (PyObject *)y;
}

static PyObject *k_depthwise_to_images(const Call *call) {
    PyArrayObject *x = images_at(call, 0), *w = images_at(call, 1), *y = images_at(call, 2);
    Depthwise d;
    if (!x || !w || !y || !PyArray_ISWRITEABLE(x) || share_memory(x, y) || !depthwise_of(call, x, w, y, &d)) return NULL;
    if (left_to_python(call, depthwise_work(&d))) return NULL;
    d.out = PyArray_DATA(x);
    work_through(call, depthwise_to_images, &d, d.images, 1, depthwise_work(&d));
    Py_INCREF((PyObject *)x);
    return (PyObject *)x;
}

static PyObject *k_depthwise_to_weights(const Call *call) {
    PyArrayObject *x = images_at(call, 0), *w = images_at(call, 1), *y = images_at(call, 2);
    Depthwise d;
    if (!x || !w || !y || !PyArray_ISWRITEABLE(w) || share_memory(w, y) || !depthwise_of(call, x, w, y, &d)) return NULL;
    if (left_to_python(call, depthwise_work(&d))) return NULL;
    int64_t taps = PyArray_SIZE(w);
    float *sums = PyMem_Malloc(d.images * taps * sizeof(float)), *dw = PyArray_DATA(w);
    if (!sums) return PyErr_NoMemory();
    d.out = sums;
    work_through(call, depthwise_to_weights, &d, d.images, 1, depthwise_work(&d));
    memcpy(dw, sums, taps * sizeof(float));
    for (int64_t image = 1; image < d.images; image++)
        for (int64_t i = 0; i < taps; i++) dw[i] += sums[image * taps + i];
    PyMem_Free(sums);
    Py_INCREF((PyObject *)w);
    return (PyObject *)w;
}
