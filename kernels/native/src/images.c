/* Images of another size, the gradient of that, and parts of images of another size. Images are [batch, height, width, channels].
 *
 * The caller says for each new row and each new column which old ones it is made of, and their weights (`Taps`). A new row is the sum of
 * old rows, which are added whole, and then its pixels are sums along it. Threads take rows, and for gradients images.
 */

typedef struct {
    const int64_t *places; /* [new size, count], all of which have been compared with the old size */
    const float *weights;
    int64_t size, count;
} Taps;

typedef struct {
    const void *x;
    float *out;
    bool bytes; /* the images are whole numbers of a byte */
    int64_t height, width, channels;
    Taps rows, columns;
    bool *failed;
} Resized;

/* The taps of the arguments `index` and `index + 1` into `old` places. */
static bool taps_at(const Call *call, Py_ssize_t index, int64_t old, Taps *taps) {
    PyArrayObject *places = typed_at(call, index, NPY_INT64), *weights = typed_at(call, index + 1, NPY_FLOAT32);
    if (!places || !weights || PyArray_NDIM(places) != 2 || !same_shape(places, weights) || !PyArray_SIZE(places)) return false;
    *taps = (Taps){PyArray_DATA(places), PyArray_DATA(weights), PyArray_DIM(places, 0), PyArray_DIM(places, 1)};
    bool fits = true;
    for (int64_t i = 0; i < taps->size * taps->count; i++) fits &= taps->places[i] >= 0 && taps->places[i] < old;
    return fits;
}

/* `row` gets, or is increased by, a row of an image times a weight. */
static void row_of_floats(float *row, const float *x, float weight, int64_t count, bool first) {
    if (first)
        for (int64_t i = 0; i < count; i++) row[i] = x[i] * weight;
    else
        for (int64_t i = 0; i < count; i++) row[i] += x[i] * weight;
}

static void row_of_bytes(float *row, const uint8_t *x, float weight, int64_t count, bool first) {
    if (first)
        for (int64_t i = 0; i < count; i++) row[i] = (float)x[i] * weight;
    else
        for (int64_t i = 0; i < count; i++) row[i] += (float)x[i] * weight;
}

/* The pixels of a new row are sums along the old one, of so many taps each. */
INLINED void along_row(const float *row, const Taps *taps, float *out, const int64_t channels, const int64_t count) {
    const int64_t *places = taps->places;
    const float *weights = taps->weights;
    for (int64_t x = 0; x < taps->size; x++, places += count, weights += count, out += channels)
        for (int64_t c = 0; c < channels; c++) {
            float sum = row[places[0] * channels + c] * weights[0];
            for (int64_t t = 1; t < count; t++) sum += row[places[t] * channels + c] * weights[t];
            out[c] = sum;
        }
}

INLINED void along_row_of(const float *row, const Taps *taps, float *out, const int64_t channels) {
    if (taps->count == 2) along_row(row, taps, out, channels, 2);
    else if (taps->count == 4) along_row(row, taps, out, channels, 4);
    else along_row(row, taps, out, channels, taps->count);
}

static void resized_rows(int64_t begin, int64_t count, const void *given) {
    const Resized *p = given;
    int64_t line = p->width * p->channels, channels = p->channels;
    float *row = malloc((size_t)line * sizeof(float));
    if (!row) {
        __atomic_store_n(p->failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t image = i / p->rows.size * p->height, y = i % p->rows.size;
        for (int64_t t = 0; t < p->rows.count; t++) {
            int64_t from = (image + p->rows.places[y * p->rows.count + t]) * line;
            float weight = p->rows.weights[y * p->rows.count + t];
            if (p->bytes)
                row_of_bytes(row, (const uint8_t *)p->x + from, weight, line, !t);
            else
                row_of_floats(row, (const float *)p->x + from, weight, line, !t);
        }
        float *out = p->out + i * p->columns.size * channels;
        if (channels == 1) along_row_of(row, &p->columns, out, 1);
        else if (channels == 3) along_row_of(row, &p->columns, out, 3);
        else if (channels == 4) along_row_of(row, &p->columns, out, 4);
        else along_row_of(row, &p->columns, out, channels);
    }
    free(row);
}

/* The most rows and columns of an image whose places are whole floats: more would be rounded to places outside. */
#define EXACT (1 << 24)

/* Images of floats, or of bytes where those are taken, with a pixel at least, and at most EXACT rows and columns. */
static PyArrayObject *pictures_at(const Call *call, Py_ssize_t index, bool bytes, Resized *p) {
    PyArrayObject *x = array_at(call, index);
    if (!x || PyArray_NDIM(x) != 4 || !PyArray_SIZE(x)) return NULL;
    p->bytes = PyArray_TYPE(x) == NPY_UINT8;
    if (PyArray_TYPE(x) != NPY_FLOAT32 && !(bytes && p->bytes)) return NULL;
    p->x = PyArray_DATA(x);
    p->height = PyArray_DIM(x, 1), p->width = PyArray_DIM(x, 2), p->channels = PyArray_DIM(x, 3);
    return p->height > EXACT || p->width > EXACT ? NULL : x;
}

static PyObject *image_if(bool stands, PyArrayObject *out) {
    if (stands) return (PyObject *)out;
    Py_DECREF((PyObject *)out);
    return NULL;
}

/* resized(images, places of rows, weights of rows, places of columns, weights of columns, out or nothing): floats. */
static PyObject *k_resized(const Call *call) {
    bool failed = false;
    Resized p = {.failed = &failed};
    PyArrayObject *x = pictures_at(call, 0, true, &p);
    if (!x || call->count < 5 || !taps_at(call, 1, p.height, &p.rows) || !taps_at(call, 3, p.width, &p.columns)) return NULL;
    int64_t each = p.rows.count * p.width * p.channels / 4 + p.columns.count * p.columns.size * p.channels;
    int64_t rows = PyArray_DIM(x, 0) * p.rows.size;
    if (left_to_python(call, rows * each)) return NULL;
    npy_intp sizes[4] = {PyArray_DIM(x, 0), p.rows.size, p.columns.size, p.channels};
    PyArrayObject *out = result_at(call, 5, NPY_FLOAT32, 4, sizes);
    if (!out) return NULL;
    p.out = PyArray_DATA(out);
    work_through(call, resized_rows, &p, rows, HELD / (each + 1) + 1, rows * each);
    return image_if(!failed, out);
}

/* The slopes of new images become those of old ones. */
static void resized_images(int64_t begin, int64_t count, const void *given) {
    const Resized *p = given;
    int64_t line = p->width * p->channels, channels = p->channels;
    float *row = malloc((size_t)line * sizeof(float));
    if (!row) {
        __atomic_store_n(p->failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t image = begin; image < begin + count; image++) {
        float *out = p->out + image * p->height * line;
        const float *x = (const float *)p->x + image * p->rows.size * p->columns.size * channels;
        memset(out, 0, (size_t)(p->height * line) * sizeof(float));
        for (int64_t y = 0; y < p->rows.size; y++) {
            memset(row, 0, (size_t)line * sizeof(float));
            const int64_t *places = p->columns.places;
            const float *weights = p->columns.weights;
            for (int64_t k = 0; k < p->columns.size; k++, x += channels)
                for (int64_t t = 0; t < p->columns.count; t++, places++, weights++)
                    for (int64_t c = 0; c < channels; c++) row[*places * channels + c] += x[c] * *weights;
            for (int64_t t = 0; t < p->rows.count; t++)
                row_of_floats(out + p->rows.places[y * p->rows.count + t] * line, row, p->rows.weights[y * p->rows.count + t], line, false);
        }
    }
    free(row);
}

/* resized_back(slopes, height, width, places of rows, weights of rows, places of columns, weights of columns, out or nothing): the slopes of images
 * of this height and width. */
static PyObject *k_resized_back(const Call *call) {
    bool failed = false;
    Resized p = {.failed = &failed};
    PyArrayObject *x = pictures_at(call, 0, false, &p);
    if (!x || call->count < 7) return NULL;
    int64_t new_height = p.height, new_width = p.width;
    if (!whole_at(call, 1, &p.height) || !whole_at(call, 2, &p.width) || p.height < 1 || p.width < 1) return NULL;
    if (!taps_at(call, 3, p.height, &p.rows) || !taps_at(call, 5, p.width, &p.columns)) return NULL;
    if (p.rows.size != new_height || p.columns.size != new_width) return NULL;
    int64_t each = new_height * p.channels * (p.rows.count * p.width / 2 + 2 * p.columns.count * new_width);
    int64_t images = PyArray_DIM(x, 0);
    if (left_to_python(call, images * each)) return NULL;
    npy_intp sizes[4] = {images, p.height, p.width, p.channels};
    PyArrayObject *out = result_at(call, 7, NPY_FLOAT32, 4, sizes);
    if (!out) return NULL;
    p.out = PyArray_DATA(out);
    work_through(call, resized_images, &p, images, 1, images * each);
    return image_if(!failed, out);
}

/* ---- boxes */

typedef struct {
    Resized images;
    const float *boxes;
    const int32_t *numbers;
    int64_t height, width;
    float outside;
    bool nearest;
} Boxes;

/* The place of a pixel of a crop among `size` pixels of its image. */
static inline float place_in(float low, float high, int64_t at, int64_t count, int64_t size) {
    if (count == 1) return 0.5f * (low + high) * (float)(size - 1);
    float step = (high - low) * (float)(size - 1) / (float)(count - 1);
    return low * (float)(size - 1) + (float)at * step;
}

static inline float pixel(const Resized *p, int64_t at) { return p->bytes ? (float)((const uint8_t *)p->x)[at] : ((const float *)p->x)[at]; }

static inline int64_t nearest_to(float at, int64_t size) {
    int64_t place = (int64_t)floorf(at + 0.5f);
    return place < size ? place : size - 1;
}

INLINED void box_row(const Boxes *p, float *out, const float *box, int64_t image, int64_t y, const bool bytes) {
    Resized images = p->images;
    images.bytes = bytes;
    int64_t channels = images.channels, line = images.width * channels;
    float down = place_in(box[0], box[2], y, p->height, images.height);
    bool inside = down >= 0 && down <= (float)(images.height - 1);
    float below = inside ? floorf(down) : 0, part = inside ? down - below : 0;
    int64_t upper = (image * images.height + (int64_t)below) * line, lower = inside && part > 0 ? upper + line : upper;
    if (inside && p->nearest) upper = (image * images.height + nearest_to(down, images.height)) * line;
    for (int64_t x = 0; x < p->width; x++, out += channels) {
        float right = place_in(box[1], box[3], x, p->width, images.width);
        if (!inside || !(right >= 0 && right <= (float)(images.width - 1))) {
            for (int64_t c = 0; c < channels; c++) out[c] = p->outside;
            continue;
        }
        if (p->nearest) {
            int64_t at = upper + nearest_to(right, images.width) * channels;
            for (int64_t c = 0; c < channels; c++) out[c] = pixel(&images, at + c);
            continue;
        }
        float left = floorf(right), share = right - left;
        int64_t one = (int64_t)left * channels, other = share > 0 ? one + channels : one;
        for (int64_t c = 0; c < channels; c++) {
            float a = pixel(&images, upper + one + c), b = pixel(&images, lower + one + c);
            a += (pixel(&images, upper + other + c) - a) * share;
            b += (pixel(&images, lower + other + c) - b) * share;
            out[c] = a + (b - a) * part;
        }
    }
}

static void box_rows(int64_t begin, int64_t count, const void *given) {
    const Boxes *p = given;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t box = i / p->height;
        float *out = p->images.out + i * p->width * p->images.channels;
        if (p->images.bytes)
            box_row(p, out, p->boxes + 4 * box, p->numbers[box], i % p->height, true);
        else
            box_row(p, out, p->boxes + 4 * box, p->numbers[box], i % p->height, false);
    }
}

/* boxes(images, corners, numbers of images, height, width, nearest, value outside, out or nothing): parts of images, each of this size. */
static PyObject *k_boxes(const Call *call) {
    Boxes p = {0};
    PyArrayObject *x = pictures_at(call, 0, true, &p.images), *boxes = typed_at(call, 1, NPY_FLOAT32), *numbers = typed_at(call, 2, NPY_INT32);
    if (!x || !boxes || !numbers || call->count < 7 || PyArray_NDIM(boxes) != 2 || PyArray_NDIM(numbers) != 1) return NULL;
    int64_t count = PyArray_DIM(boxes, 0);
    if (PyArray_DIM(boxes, 1) != 4 || PyArray_DIM(numbers, 0) != count || !count) return NULL;
    if (!whole_at(call, 3, &p.height) || !whole_at(call, 4, &p.width) || p.height < 1 || p.width < 1) return NULL;
    if (p.height > INT32_MAX || p.width > INT32_MAX || !float_at(call, 6, &p.outside)) return NULL;
    p.nearest = call->args[5] == Py_True;
    p.boxes = PyArray_DATA(boxes), p.numbers = PyArray_DATA(numbers);
    for (int64_t i = 0; i < count; i++)
        if (p.numbers[i] < 0 || p.numbers[i] >= PyArray_DIM(x, 0)) return NULL;
    int64_t each = p.width * p.images.channels * 4;
    if (left_to_python(call, count * p.height * each)) return NULL;
    npy_intp sizes[4] = {count, p.height, p.width, p.images.channels};
    PyArrayObject *out = result_at(call, 7, NPY_FLOAT32, 4, sizes);
    if (!out) return NULL;
    p.images.out = PyArray_DATA(out);
    work_through(call, box_rows, &p, count * p.height, HELD / (each + 1) + 1, count * p.height * each);
    return (PyObject *)out;
}
