/* Colours of pixels of three channels: from red, green and blue to hue, saturation and value, and back.
 *
 * Some pixels at a time are taken apart into their channels, computed with side by side, and put together again.
 */

enum { PIXELS = 64, COST_OF_PIXEL = 16 };

typedef struct {
    const void *x;
    void *out;
} Pixels;

/* The larger and the smaller of two numbers; NaN if either is, as numpy has it. */
#define HIGHER(a, b) (((a) > (b)) | ((a) != (a)) ? (a) : (b))
#define LOWER(a, b) (((a) < (b)) | ((a) != (a)) ? (a) : (b))

#define COLORS(T, name)                                                                                                      \
    static void to_hues_##name(T *restrict reds, T *restrict greens, T *restrict blues) {                                    \
        for (int i = 0; i < PIXELS; i++) {                                                                                   \
            T red = reds[i], green = greens[i], blue = blues[i], value = HIGHER(red, green), least = LOWER(red, green);    \
            value = HIGHER(value, blue), least = LOWER(least, blue);                                                       \
            T spread = value - least, unit = 1 / (6 * (spread > 0 ? spread : 1));                                            \
            T of_red = unit * (green - blue), of_green = unit * (blue - red) + (T)(2.0 / 6), of_blue = unit * (red - green) + (T)(4.0 / 6); \
            T hue = red == value ? of_red : green == value ? of_green : of_blue;                                             \
            hue = spread > 0 ? hue : 0;                                                                                      \
            T part = spread / (value > 0 ? value : 1);                                                                       \
            reds[i] = hue < 0 ? hue + 1 : hue, greens[i] = value > 0 ? part : 0, blues[i] = value;                           \
        }                                                                                                                    \
    }                                                                                                                        \
    static inline T within_##name(T x) { return x < 0 ? 0 : x > 1 ? 1 : x; }                                                 \
    static void to_reds_##name(T *restrict hues, T *restrict saturations, T *restrict values) {                              \
        for (int i = 0; i < PIXELS; i++) {                                                                                   \
            T turn = hues[i] * 6, saturation = saturations[i], value = values[i];                                            \
            T red = within_##name(fabs(turn - 3) - 1), green = within_##name(2 - fabs(turn - 2)), blue = within_##name(2 - fabs(turn - 4)); \
            hues[i] = (1 - saturation + saturation * red) * value;                                                           \
            saturations[i] = (1 - saturation + saturation * green) * value;                                                  \
            values[i] = (1 - saturation + saturation * blue) * value;                                                        \
        }                                                                                                                    \
    }                                                                                                                        \
    INLINED void colored_##name(int64_t begin, int64_t count, const Pixels *p, const bool back) {                            \
        T a[PIXELS] = {0}, b[PIXELS] = {0}, c[PIXELS] = {0};                                                                 \
        for (int64_t from = begin; from < begin + count; from += PIXELS) {                                                   \
            int64_t some = begin + count - from < PIXELS ? begin + count - from : PIXELS;                                    \
            const T *x = (const T *)p->x + 3 * from;                                                                         \
            T *out = (T *)p->out + 3 * from;                                                                                 \
            for (int64_t i = 0; i < some; i++) a[i] = x[3 * i], b[i] = x[3 * i + 1], c[i] = x[3 * i + 2];                    \
            if (back) to_reds_##name(a, b, c);                                                                               \
            else to_hues_##name(a, b, c);                                                                                    \
            for (int64_t i = 0; i < some; i++) out[3 * i] = a[i], out[3 * i + 1] = b[i], out[3 * i + 2] = c[i];              \
        }                                                                                                                    \
    }                                                                                                                        \
    static void hues_##name(int64_t begin, int64_t count, const void *given) { colored_##name(begin, count, given, false); } \
    static void reds_##name(int64_t begin, int64_t count, const void *given) { colored_##name(begin, count, given, true); }
#define fabs fabsf
COLORS(float, f4)
#undef fabs
COLORS(double, f8)

static PyObject *colored(const Call *call, Part of_floats, Part of_doubles) {
    PyArrayObject *x = array_at(call, 0);
    int rank = x ? PyArray_NDIM(x) : 0;
    if (!rank || PyArray_DIM(x, rank - 1) != 3) return NULL;
    if (PyArray_TYPE(x) != NPY_FLOAT32 && PyArray_TYPE(x) != NPY_FLOAT64) return NULL;
    int64_t count = PyArray_SIZE(x) / 3;
    if (left_to_python(call, count * COST_OF_PIXEL)) return NULL;
    PyArrayObject *out = result_at(call, 1, PyArray_TYPE(x), rank, PyArray_DIMS(x));
    if (!out) return NULL;
    Pixels p = {PyArray_DATA(x), PyArray_DATA(out)};
    work_through(call, PyArray_TYPE(x) == NPY_FLOAT32 ? of_floats : of_doubles, &p, count, HELD / COST_OF_PIXEL, count * COST_OF_PIXEL);
    return (PyObject *)out;
}

/* hues(pixels, out or nothing): hue, saturation and value of red, green and blue. */
static PyObject *k_hues(const Call *call) { return colored(call, hues_f4, hues_f8); }

/* reds(pixels, out or nothing): red, green and blue of hue, saturation and value. */
static PyObject *k_reds(const Call *call) { return colored(call, reds_f4, reds_f8); }
