/* Sums and means of segments. Ids never fall, so they come in runs, and a thread has some of the runs, whole ones. A run of up to 8
 * rows is added as numpy adds it: the rest to the first row. */

/* What a sum is divided by. */
enum { BY_NOTHING, BY_COUNT, BY_ROOT };


typedef struct {
    const void *data, *ids;
    void *out;
    int64_t count, width, height;
    bool wide, in_order;
    int how;
} Segments;

/* Where the first run begins at or behind the beginning of a part. */
static int64_t run_behind(const void *ids, bool wide, int64_t count, int64_t part) {
    int64_t at = count * part / SCATTER_PARTS, end = count;
    if (!at || at >= count || number(ids, wide, at) != number(ids, wide, at - 1)) return at;
    for (int64_t id = number(ids, wide, at); at + 1 < end;) {
        int64_t middle = at + (end - at) / 2;
        if (number(ids, wide, middle) == id)
            at = middle;
        else
            end = middle;
    }
    return end;
}

#define SEGMENTS(name, T)                                                                                                          \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Segments *s = given;                                                                                                 \
        const void *ids = s->ids;                                                                                                  \
        const bool wide = s->wide, in_order = s->in_order;                                                                         \
        const int64_t width = s->width;                                                                                            \
        const T *data = s->data;                                                                                                   \
        int64_t i = run_behind(ids, wide, s->count, begin), to = run_behind(ids, wide, s->count, begin + count);                   \
        if (i >= to) return;                                                                                                       \
        int64_t from = i ? number(ids, wide, i - 1) + 1 : 0, behind = number(ids, wide, to - 1) + 1;                               \
        memset((T *)s->out + from * width, 0, (behind - from) * width * sizeof(T));                                                \
        for (int64_t end; i < to; i = end) {                                                                                       \
            int64_t id = number(ids, wide, i);                                                                                     \
            for (end = i + 1; end < to && number(ids, wide, end) == id;) end++;                                                    \
            const T *first = data + i * width;                                                                                     \
            T *restrict into = (T *)s->out + id * width;                                                                           \
            int64_t start = in_order || end - i == 1 ? i : i + 1, row = start + 1;                                                 \
            memcpy(into, data + start * width, width * sizeof(T));                                                                 \
            for (; in_order && row + 4 <= end; row += 4) {                                                                         \
                const T *a = data + row * width, *b = a + width, *c = b + width, *d = c + width;                                   \
                for (int64_t k = 0; k < width; k++) into[k] = (((into[k] + a[k]) + b[k]) + c[k]) + d[k];                           \
            }                                                                                                                      \
            for (; row < end; row++) {                                                                                             \
                const T *line = data + row * width;                                                                                \
                for (int64_t k = 0; k < width; k++) into[k] += line[k];                                                            \
            }                                                                                                                      \
            if (start != i)                                                                                                        \
                for (int64_t k = 0; k < width; k++) into[k] = first[k] + into[k];                                                  \
            if (s->how == BY_COUNT)                                                                                                \
                for (int64_t k = 0; k < width; k++) into[k] = (T)((double)into[k] / (double)(end - i));                            \
        }                                                                                                                          \
    }
SEGMENTS(segments_f4, float)
SEGMENTS(segments_f8, double)

static PyObject *of_segments(const Call *call, int how) {
    PyArrayObject *data = array_at(call, 0), *ids = indices_at(call, 1);
    if (!data || !ids || PyArray_NDIM(ids) != 1 || PyArray_NDIM(data) < 2 || PyArray_NDIM(data) > DEEPEST) return NULL;
    int type = PyArray_TYPE(data);
    Segments s = {PyArray_DATA(data), PyArray_DATA(ids), NULL, PyArray_DIM(ids, 0), 0, 0, is_wide(ids), false};
    if ((type != NPY_FLOAT32 && type != NPY_FLOAT64) || !s.count || PyArray_DIM(data, 0) != s.count) return NULL;
    s.width = PyArray_SIZE(data) / s.count;
    if (left_to_python(call, s.count * s.width)) return NULL;
    int64_t last = 0, run = 0, longest = 0;
    for (int64_t i = 0; i < s.count; i++) {
        int64_t id = number(s.ids, s.wide, i);
        if (id < last || id >= LARGEST) return NULL;
        run = i && id == last ? run + 1 : 1;
        longest = run > longest ? run : longest;
        last = id;
    }
    s.height = last + 1;
    s.in_order = longest > AS_REDUCEAT; /* in longer runs numpy keeps several sums */
    if (!s.width || s.height > LARGEST || s.height * s.width > LARGEST) return NULL;
    if (how == BY_NOTHING && s.in_order && s.width > 1 && s.count * s.width < HELD) return NULL;
    s.how = how;
    npy_intp sizes[DEEPEST];
    for (int i = 0; i < PyArray_NDIM(data); i++) sizes[i] = i ? PyArray_DIM(data, i) : s.height;
    PyArrayObject *made = fresh(type, PyArray_NDIM(data), sizes);
    if (!made) return NULL;
    s.out = PyArray_DATA(made);
    work_through(call, type == NPY_FLOAT32 ? segments_f4 : segments_f8, &s, SCATTER_PARTS, 1, s.count * s.width);
    return (PyObject *)made;
}

/* segment_sum(data, ids), segment_mean(data, ids) */
static PyObject *k_segment_sum(const Call *call) { return of_segments(call, BY_NOTHING); }
static PyObject *k_segment_mean(const Call *call) { return of_segments(call, BY_COUNT); }

/* ---- rows that are picked */

typedef struct {
    const void *data, *indices, *ids;
    void *out;
    int64_t count, width;
    bool wide_indices, wide_ids;
    int how;
} Picked;

#define PICKED(name, T)                                                                                                            \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Picked *s = given;                                                                                                   \
        int64_t i = run_behind(s->ids, s->wide_ids, s->count, begin);                                                              \
        for (int64_t to = run_behind(s->ids, s->wide_ids, s->count, begin + count); i < to;) {                                     \
            int64_t id = number(s->ids, s->wide_ids, i), first = i;                                                                \
            T *restrict into = (T *)s->out + id * s->width;                                                                        \
            for (; i < to && number(s->ids, s->wide_ids, i) == id; i++) {                                                          \
                const T *row = (const T *)s->data + number(s->indices, s->wide_indices, i) * s->width;                             \
                for (int64_t k = 0; k < s->width; k++) into[k] += row[k];                                                          \
            }                                                                                                                      \
            if (s->how == BY_NOTHING) continue;                                                                                    \
            const T by = s->how == BY_COUNT ? (T)(i - first) : (T)sqrt((double)(T)(i - first));                                    \
            for (int64_t k = 0; k < s->width; k++) into[k] /= by;                                                                  \
        }                                                                                                                          \
    }
PICKED(picked_f4, float)
PICKED(picked_f8, double)

static PyObject *of_picked(const Call *call, int how) {
    PyArrayObject *data = array_at(call, 0), *indices = indices_at(call, 1), *ids = indices_at(call, 2);
    if (!data || !indices || !ids || PyArray_NDIM(data) < 1 || PyArray_NDIM(data) > DEEPEST) return NULL;
    int type = PyArray_TYPE(data);
    if ((type != NPY_FLOAT32 && type != NPY_FLOAT64) || PyArray_NDIM(indices) != 1 || !same_shape(indices, ids)) return NULL;
    Picked s = {PyArray_DATA(data), PyArray_DATA(indices), PyArray_DATA(ids), NULL, PyArray_DIM(ids, 0), 1, is_wide(indices), is_wide(ids), how};
    int64_t rows = PyArray_DIM(data, 0), last = 0, height;
    if (left_to_python(call, s.count * (rows ? PyArray_SIZE(data) / rows : 1))) return NULL;
    for (int64_t i = 0; i < s.count; i++) {
        int64_t index = number(s.indices, s.wide_indices, i), id = number(s.ids, s.wide_ids, i);
        if (index < 0 || index >= rows || id < last || id >= LARGEST) return NULL;
        last = id;
    }
    if (call->count < 4 || call->args[3] == Py_None)
        height = s.count ? last + 1 : 0;
    else if (!whole_at(call, 3, &height) || height < (s.count ? last + 1 : 0))
        return NULL;
    npy_intp sizes[DEEPEST] = {height};
    for (int i = 1; i < PyArray_NDIM(data); i++) s.width *= sizes[i] = PyArray_DIM(data, i);
    if (!s.width || height > LARGEST || height * s.width > LARGEST) return NULL;
    PyArrayObject *made = fresh(type, PyArray_NDIM(data), sizes);
    if (!made) return NULL;
    s.out = PyArray_DATA(made);
    memset(s.out, 0, (size_t)PyArray_NBYTES(made));
    work_through(call, type == NPY_FLOAT32 ? picked_f4 : picked_f8, &s, SCATTER_PARTS, 1, s.count * s.width);
    return (PyObject *)made;
}

/* sparse_segment_sum(data, indices, ids, height or nothing), and others: runs of equal ids, of rows that are picked. */
static PyObject *k_sparse_segment_sum(const Call *call) { return of_picked(call, BY_NOTHING); }
static PyObject *k_sparse_segment_mean(const Call *call) { return of_picked(call, BY_COUNT); }
static PyObject *k_sparse_segment_sqrt_n(const Call *call) { return of_picked(call, BY_ROOT); }
