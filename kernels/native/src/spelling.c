/* Numbers from the strings that spell them, and strings from numbers. */

/* ---- numbers */

enum { LONGEST_NUMBER = 128 };

static inline bool is_white(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/* Digits of a decimal number, which are exact as long as they are no more than fifteen. */
typedef struct {
    bool minus, exact;
    int64_t digits, scale, seen; /* the number is digits · 10^-scale; how many there are */
} Decimal;

static const uint8_t *digits_of(const uint8_t *s, const uint8_t *end, Decimal *d, bool behind_point) {
    for (; s < end && is_digit(*s); s++, d->seen++) {
        if (d->digits < 100000000000000) d->digits = d->digits * 10 + (*s - '0'), d->scale += behind_point;
        else d->exact = false;
    }
    return s;
}

/* A power of ten that a double holds exactly. */
enum { LARGEST_TEN = 22 };
static const double TENS[LARGEST_TEN + 1] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The exponent behind an `e`, which ends the number; false where it is none. Far exponents are not exact. */
static bool exponent_of(const uint8_t *s, const uint8_t *end, Decimal *d) {
    bool minus = s < end && *s == '-';
    if (s < end && (*s == '+' || *s == '-')) s++;
    if (s == end) return false;
    int64_t exponent = 0;
    for (; s < end && is_digit(*s); s++)
        if (exponent < 1000) exponent = exponent * 10 + (*s - '0');
    d->scale -= minus ? -exponent : exponent;
    return s == end;
}

/* A decimal number: digits, perhaps a point, perhaps an exponent; an infinity, or no number. Others are left to Python. */
static bool decimal_of(const uint8_t *data, int64_t size, double *into) {
    const uint8_t *s = data, *end = data + size;
    while (s < end && is_white(*s)) s++;
    while (s < end && is_white(end[-1])) end--;
    const uint8_t *begin = s;
    Decimal d = {.exact = true};
    if (s < end && (*s == '+' || *s == '-')) d.minus = *s++ == '-';
    if (s < end && ((*s | 32) == 'i' || (*s | 32) == 'n'))
        d.exact = false;
    else {
        s = digits_of(s, end, &d, false);
        if (s < end && *s == '.') s = digits_of(s + 1, end, &d, true);
        if (!d.seen) return false;
        if (s < end && ((*s | 32) != 'e' || !exponent_of(s + 1, end, &d))) return false;
    }
    if (d.exact && d.scale <= LARGEST_TEN && d.scale >= -LARGEST_TEN) {
        double value = d.scale < 0 ? (double)d.digits * TENS[-d.scale] : (double)d.digits / TENS[d.scale];
        *into = d.minus ? -value : value;
        return true;
    }
    char text[LONGEST_NUMBER], *stops;
    if (end - begin >= LONGEST_NUMBER) return false;
    memcpy(text, begin, (size_t)(end - begin));
    text[end - begin] = 0;
    *into = PyOS_string_to_double(text, &stops, NULL);
    if (PyErr_Occurred()) PyErr_Clear();
    return stops == text + (end - begin);
}

static bool integer_of(const uint8_t *data, int64_t size, int64_t most, int64_t *into) {
    const uint8_t *s = data, *end = data + size;
    while (s < end && is_white(*s)) s++;
    while (s < end && is_white(end[-1])) end--;
    bool minus = s < end && *s == '-';
    if (s < end && (*s == '+' || *s == '-')) s++;
    if (s == end || end - s > 18) return false;
    int64_t value = 0;
    for (; s < end; s++) {
        if (!is_digit(*s)) return false;
        value = value * 10 + (*s - '0');
    }
    *into = minus ? -value : value;
    return value <= most;
}

/* numbers_of(strings, the letter of float32, float64, int32 or int64): what they spell. */
static PyObject *k_numbers_of(const Call *call) {
    Strings x;
    if (call->count != 2 || !strings_at(call, 0, &x) || !PyUnicode_Check(call->args[1]) || PyUnicode_GetLength(call->args[1]) != 1) return NULL;
    Py_UCS4 letter = PyUnicode_ReadChar(call->args[1], 0);
    int type = letter == 'f' ? NPY_FLOAT32 : letter == 'd' ? NPY_FLOAT64 : letter == 'i' ? NPY_INT32 : letter == 'l' ? NPY_INT64 : -1;
    if (type < 0) return NULL;
    PyArrayObject *out = fresh(type, x.rank, x.sizes);
    if (!out) return NULL;
    void *made = PyArray_DATA(out);
    int64_t size, whole = 0, most = type == NPY_INT32 ? INT32_MAX : INT64_MAX;
    double real = 0;
    const uint8_t *data;
    for (int64_t i = 0; i < x.count; i++) {
        bool read = bytes_at(&x, i, &data, &size);
        if (read) read = type == NPY_FLOAT32 || type == NPY_FLOAT64 ? decimal_of(data, size, &real) : integer_of(data, size, most, &whole);
        if (!read) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        if (type == NPY_FLOAT32) ((float *)made)[i] = (float)real;
        else if (type == NPY_FLOAT64) ((double *)made)[i] = real;
        else if (type == NPY_INT32) ((int32_t *)made)[i] = (int32_t)whole;
        else ((int64_t *)made)[i] = whole;
    }
    return (PyObject *)out;
}


/* ---- strings from numbers */

/* How numbers are written: C's `%` with a width and what fills it (a space, 0, or - for spaces behind), digits behind the point, and a
 * letter. */
typedef struct {
    char letter, fill;
    int64_t width, digits;
} Spelling;

enum { MOST_DIGITS = 22 };

/* The digits of a whole number, from behind; gives where they begin. */
static char *digits_before(char *end, uint64_t value) {
    do *--end = (char)('0' + value % 10);
    while (value /= 10);
    return end;
}

/* The digits of a finite number from its sign on, by `%.{digits}f`, exactly rounded; gives their count, or 0 for one that is too large.
 * A double is a whole number of 53 bits times a power of two, so times 10^digits it is one of 128 bits, whose last ones are rounded. */
static int64_t fixed_digits(double value, int64_t digits, char into[LONGEST_NUMBER]) {
    int exponent;
    int64_t mantissa = (int64_t)ldexp(frexp(fabs(value), &exponent), 53);
    int shift = 53 - exponent;
    if (digits > MOST_DIGITS || shift < 0) return 0;
    unsigned __int128 scaled = (uint64_t)mantissa, power = 1, rounded = 0;
    for (int64_t i = 0; i < digits; i++) power *= 10;
    scaled *= power;
    if (!shift)
        rounded = scaled;
    else if (shift < 128) {
        unsigned __int128 rest = scaled & (((unsigned __int128)1 << shift) - 1), half = (unsigned __int128)1 << (shift - 1);
        rounded = scaled >> shift;
        rounded += rest > half || (rest == half && (rounded & 1));
    }
    char *end = into + LONGEST_NUMBER, *begin = end;
    for (int64_t i = 0; i < digits; i++) { /* numbers of 128 bits are slow to divide */
        if (rounded >> 64) {
            *--begin = (char)('0' + (int)(rounded % 10));
            rounded /= 10;
        } else {
            *--begin = (char)('0' + (int)((uint64_t)rounded % 10));
            rounded = (uint64_t)rounded / 10;
        }
    }
    if (digits) *--begin = '.';
    begin = digits_before(begin, (uint64_t)rounded);
    if (signbit(value)) *--begin = '-';
    memmove(into, begin, (size_t)(end - begin));
    return end - begin;
}

/* Puts the digits into a new string of at least the width. */
static bool put_digits(Writer *out, int64_t place, const Spelling *how, const char *digits, int64_t count, bool zeros) {
    int64_t gap = how->width > count ? how->width - count : 0, sign = zeros && count && *digits == '-';
    char *room = room_for(out, place, count + gap);
    if (!room) return false;
    if (how->fill == '-') {
        memcpy(room, digits, (size_t)count);
        memset(room + count, ' ', (size_t)gap);
        return true;
    }
    memcpy(room, digits, (size_t)sign);
    memset(room + sign, zeros ? '0' : ' ', (size_t)gap);
    memcpy(room + sign + gap, digits + sign, (size_t)(count - sign));
    return true;
}

static bool put_float(Writer *out, int64_t place, const Spelling *how, double value) {
    char digits[LONGEST_NUMBER];
    if (!isfinite(value)) {
        const char *text = value != value ? "-nan" : "-inf";
        if (!signbit(value)) text++;
        return put_digits(out, place, how, text, (int64_t)strlen(text), false);
    }
    int64_t precision = how->digits < 0 ? 6 : how->digits, count = how->letter == 'f' ? fixed_digits(value, precision, digits) : 0;
    if (count) return put_digits(out, place, how, digits, count, how->fill == '0');
    char *text = PyOS_double_to_string(value, how->letter, (int)precision, 0, NULL);
    if (!text) return false;
    bool put = put_digits(out, place, how, text, (int64_t)strlen(text), how->fill == '0');
    PyMem_Free(text);
    return put;
}

static bool put_whole(Writer *out, int64_t place, const Spelling *how, uint64_t size, bool minus) {
    char digits[24], *end = digits + sizeof(digits), *begin = digits_before(end, size);
    if (minus) *--begin = '-';
    return put_digits(out, place, how, begin, end - begin, how->fill == '0');
}

static bool put_number(Writer *out, int64_t place, const Spelling *how, int type, const void *data, int64_t i) {
#define PUT_SIGNED(T) put_whole(out, place, how, ((const T *)data)[i] < 0 ? -(uint64_t)((const T *)data)[i] : (uint64_t)((const T *)data)[i], ((const T *)data)[i] < 0)
#define PUT_UNSIGNED(T) put_whole(out, place, how, ((const T *)data)[i], false)
    switch (type) {
    case NPY_BOOL: {
        bool holds = ((const bool *)data)[i];
        char *room = room_for(out, place, holds ? 4 : 5);
        if (room) memcpy(room, holds ? "true" : "false", holds ? 4 : 5);
        return room;
    }
    case NPY_FLOAT32: return put_float(out, place, how, ((const float *)data)[i]);
    case NPY_FLOAT64: return put_float(out, place, how, ((const double *)data)[i]);
    case NPY_INT8: return PUT_SIGNED(int8_t);
    case NPY_INT16: return PUT_SIGNED(int16_t);
    case NPY_INT32: return PUT_SIGNED(int32_t);
    case NPY_INT64: return PUT_SIGNED(int64_t);
    case NPY_UINT8: return PUT_UNSIGNED(uint8_t);
    case NPY_UINT16: return PUT_UNSIGNED(uint16_t);
    case NPY_UINT32: return PUT_UNSIGNED(uint32_t);
    case NPY_UINT64: return PUT_UNSIGNED(uint64_t);
    default: return false;
    }
#undef PUT_SIGNED
#undef PUT_UNSIGNED
}

/* spelled(numbers, letter, digits behind the point or -1, width or -1, what fills it, packs): a string for each. */
static PyObject *k_spelled(const Call *call) {
    PyArrayObject *x = array_at(call, 0);
    Spelling how;
    if (!x || !PyArray_NDIM(x) || !has_arguments(call, 5) || !PyBytes_CheckExact(call->args[1]) || !PyBytes_CheckExact(call->args[4])) return NULL;
    if (PyBytes_Size(call->args[1]) != 1 || PyBytes_Size(call->args[4]) > 1) return NULL;
    if (!whole_at(call, 2, &how.digits) || !whole_at(call, 3, &how.width) || how.digits > 1000 || how.width > 1000000) return NULL;
    how.letter = PyBytes_AsString(call->args[1])[0];
    how.fill = PyBytes_AsString(call->args[4])[0]; /* a zero where it is empty */
    if (how.fill && how.fill != '0' && how.fill != '-') return NULL;
    if (how.letter != 'f' && how.letter != 'e' && how.letter != 'g') return NULL;
    Writer out;
    if (!begin_strings(&out, packs_at(call, 5), PyArray_NDIM(x), PyArray_DIMS(x), 8 * PyArray_SIZE(x))) return NULL;
    bool good = true;
    for (int64_t i = 0; good && i < PyArray_SIZE(x); i++) good = put_number(&out, i, &how, PyArray_TYPE(x), PyArray_DATA(x), i);
    return end_strings(&out, good);
}
