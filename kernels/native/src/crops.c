/* Gradients of parts of images (`boxes` in images.c), for the images and for the boxes. Threads take images, or boxes. */

typedef struct {
    Boxes boxes;         /* of which `images` has the slopes of the crops for the gradient of images, or the images for that of boxes */
    const float *slopes; /* [boxes, height, width, channels] */
    float *out;
    int64_t count; /* of boxes */
} Crops;

/* The slopes of one crop are added to its image, each to the four pixels that it is between, or to the nearest. */
static void crop_back(const Crops *p, int64_t box, float *image) {
    const Boxes *b = &p->boxes;
    const float *corners = b->boxes + 4 * box, *slope = p->slopes + box * b->height * b->width * b->images.channels;
    int64_t channels = b->images.channels, line = b->images.width * channels;
    for (int64_t y = 0; y < b->height; y++, slope += b->width * channels) {
        float down = place_in(corners[0], corners[2], y, b->height, b->images.height);
        if (!(down >= 0 && down <= (float)(b->images.height - 1))) continue;
        float below = floorf(down), part = down - below;
        float *upper = image + (int64_t)below * line, *lower = part > 0 ? upper + line : upper;
        if (b->nearest) upper = image + nearest_to(down, b->images.height) * line;
        for (int64_t x = 0; x < b->width; x++) {
            float right = place_in(corners[1], corners[3], x, b->width, b->images.width);
            if (!(right >= 0 && right <= (float)(b->images.width - 1))) continue;
            const float *here = slope + x * channels;
            if (b->nearest) {
                float *into = upper + nearest_to(right, b->images.width) * channels;
                for (int64_t c = 0; c < channels; c++) into[c] += here[c];
                continue;
            }
            float left = floorf(right), share = right - left;
            int64_t one = (int64_t)left * channels, other = share > 0 ? one + channels : one;
            for (int64_t c = 0; c < channels; c++) {
                float above = here[c] * (1 - part), under = here[c] * part;
                upper[one + c] += above * (1 - share);
                upper[other + c] += above * share;
                lower[one + c] += under * (1 - share);
                lower[other + c] += under * share;
            }
        }
    }
}

static void crops_to_images(int64_t begin, int64_t count, const void *given) {
    const Crops *p = given;
    int64_t size = p->boxes.images.height * p->boxes.images.width * p->boxes.images.channels;
    memset(p->out + begin * size, 0, (size_t)(count * size) * sizeof(float));
    for (int64_t box = 0; box < p->count; box++) {
        int64_t image = p->boxes.numbers[box];
        if (image >= begin && image < begin + count) crop_back(p, box, p->out + image * size);
    }
}

/* The sums over a row of slopes, each times what its pixel changes by when the crop goes down, and to the right: the latter also times
 * how far a column's place follows the left edge, and the right one. */
typedef struct {
    double down, left, right;
} Row_Slope;

static Row_Slope row_slope(const Crops *p, const float *corners, int64_t image, int64_t y, float down, const float *slope) {
    const Boxes *b = &p->boxes;
    int64_t channels = b->images.channels, line = b->images.width * channels;
    float below = floorf(down), part = down - below;
    int64_t upper = (image * b->images.height + (int64_t)below) * line, lower = part > 0 ? upper + line : upper;
    double most = (double)(b->images.width - 1), along = b->width > 1 ? most / (double)(b->width - 1) : 0;
    Row_Slope sums = {0};
    for (int64_t x = 0; x < b->width; x++) {
        float right = place_in(corners[1], corners[3], x, b->width, b->images.width);
        if (!(right >= 0 && right <= (float)(b->images.width - 1))) continue;
        float left = floorf(right), share = right - left;
        int64_t one = (int64_t)left * channels, other = share > 0 ? one + channels : one;
        double by_y = 0, by_x = 0;
        for (int64_t c = 0; c < channels; c++) {
            float a = pixel(&b->images, upper + one + c), a_right = pixel(&b->images, upper + other + c);
            float z = pixel(&b->images, lower + one + c), z_right = pixel(&b->images, lower + other + c), here = slope[x * channels + c];
            by_y += ((1 - share) * (z - a) + share * (z_right - a_right)) * here;
            by_x += ((1 - part) * (a_right - a) + part * (z_right - z)) * here;
        }
        double follows = b->width > 1 ? (double)x * along : 0.5 * most;
        sums.down += by_y;
        sums.left += (most - follows) * by_x;
        sums.right += follows * by_x;
    }
    return sums;
}

static void crops_to_boxes(int64_t begin, int64_t count, const void *given) {
    const Crops *p = given;
    const Boxes *b = &p->boxes;
    double most = (double)(b->images.height - 1), along = b->height > 1 ? most / (double)(b->height - 1) : 0;
    for (int64_t box = begin; box < begin + count; box++) {
        const float *corners = b->boxes + 4 * box, *slope = p->slopes + box * b->height * b->width * b->images.channels;
        double edges[4] = {0};
        for (int64_t y = 0; y < b->height; y++, slope += b->width * b->images.channels) {
            float down = place_in(corners[0], corners[2], y, b->height, b->images.height);
            if (!(down >= 0 && down <= (float)(b->images.height - 1))) continue;
            Row_Slope sums = row_slope(p, corners, b->numbers[box], y, down, slope);
            double follows = b->height > 1 ? (double)y * along : 0.5 * most;
            edges[0] += (most - follows) * sums.down;
            edges[1] += sums.left;
            edges[2] += follows * sums.down;
            edges[3] += sums.right;
        }
        for (int i = 0; i < 4; i++) p->out[4 * box + i] = (float)edges[i];
    }
}

/* Reads slopes of crops, corners and numbers of images, all of which are below `images`. */
static bool crops_at(const Call *call, PyArrayObject *slopes, PyArrayObject *boxes, PyArrayObject *numbers, int64_t images, Crops *p) {
    if (!slopes || !boxes || !numbers || PyArray_NDIM(slopes) != 4 || PyArray_NDIM(boxes) != 2 || PyArray_NDIM(numbers) != 1) return false;
    p->count = PyArray_DIM(boxes, 0);
    if (PyArray_DIM(boxes, 1) != 4 || PyArray_DIM(numbers, 0) != p->count || PyArray_DIM(slopes, 0) != p->count) return false;
    if (!PyArray_SIZE(slopes) || PyArray_DIM(slopes, 3) != p->boxes.images.channels) return false;
    p->slopes = PyArray_DATA(slopes), p->boxes.boxes = PyArray_DATA(boxes), p->boxes.numbers = PyArray_DATA(numbers);
    p->boxes.height = PyArray_DIM(slopes, 1), p->boxes.width = PyArray_DIM(slopes, 2);
    for (int64_t i = 0; i < p->count; i++)
        if (p->boxes.numbers[i] < 0 || p->boxes.numbers[i] >= images) return false;
    return !left_to_python(call, 4 * PyArray_SIZE(slopes));
}

/* crops_to_images(slopes, corners, numbers of images, batch, height, width, channels, nearest, out or nothing): slopes of images. */
static PyObject *k_crops_to_images(const Call *call) {
    Crops p = {0};
    Resized *images = &p.boxes.images;
    int64_t batch;
    if (call->count < 8 || !whole_at(call, 3, &batch) || !whole_at(call, 4, &images->height) || !whole_at(call, 5, &images->width)) return NULL;
    if (!whole_at(call, 6, &images->channels) || batch < 1 || images->height < 1 || images->width < 1 || images->channels < 1) return NULL;
    if (images->height > EXACT || images->width > EXACT) return NULL;
    int64_t size;
    if (__builtin_mul_overflow(batch, images->height, &size) || __builtin_mul_overflow(size, images->width, &size)) return NULL;
    if (__builtin_mul_overflow(size, images->channels, &size) || size > LARGEST) return NULL;
    PyArrayObject *slopes = typed_at(call, 0, NPY_FLOAT32);
    if (!crops_at(call, slopes, typed_at(call, 1, NPY_FLOAT32), typed_at(call, 2, NPY_INT32), batch, &p)) return NULL;
    if (left_to_python(call, size)) return NULL;
    p.boxes.nearest = call->args[7] == Py_True;
    npy_intp sizes[4] = {batch, images->height, images->width, images->channels};
    PyArrayObject *out = result_at(call, 8, NPY_FLOAT32, 4, sizes);
    if (!out) return NULL;
    p.out = PyArray_DATA(out);
    work_through(call, crops_to_images, &p, batch, 1, size / 4 + 4 * PyArray_SIZE(slopes));
    return (PyObject *)out;
}

/* crops_to_boxes(slopes, images, corners, numbers of images): slopes of the corners. */
static PyObject *k_crops_to_boxes(const Call *call) {
    Crops p = {0};
    PyArrayObject *x = pictures_at(call, 1, true, &p.boxes.images), *slopes = typed_at(call, 0, NPY_FLOAT32);
    if (!x || call->count != 4) return NULL;
    if (!crops_at(call, slopes, typed_at(call, 2, NPY_FLOAT32), typed_at(call, 3, NPY_INT32), PyArray_DIM(x, 0), &p)) return NULL;
    npy_intp sizes[2] = {p.count, 4};
    PyArrayObject *out = fresh(NPY_FLOAT32, 2, sizes);
    if (!out) return NULL;
    p.out = PyArray_DATA(out);
    int64_t each = 8 * PyArray_SIZE(slopes) / p.count;
    work_through(call, crops_to_boxes, &p, p.count, HELD / (each + 1) + 1, each * p.count);
    return (PyObject *)out;
}
