/* Strings: hashes of many, and their parts. Tensors of strings are arrays of Python's bytes, so the interpreter is kept. */

/* The bytes of an element; false where it is something else. */
static inline bool bytes_at(PyArrayObject *x, int64_t place, const uint8_t **data, int64_t *size) {
    PyObject *one = ((PyObject **)PyArray_DATA(x))[place];
    char *found;
    Py_ssize_t length;
    if (!one || !PyBytes_Check(one) || PyBytes_AsStringAndSize(one, &found, &length)) return false;
    *data = (const uint8_t *)found;
    *size = length;
    return true;
}

/* ---- FarmHash's Fingerprint64: namespace farmhashna of github.com/google/farmhash */

static const uint64_t FARM_0 = 0xC3A5C85C97CB3127u, FARM_1 = 0xB492B66FBE98F273u, FARM_2 = 0x9AE16A3B2F90404Fu;

static inline uint64_t farm_at(const uint8_t *s) {
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) word = word << 8 | s[i];
    return word;
}
static inline uint64_t farm_half_at(const uint8_t *s) { return s[0] | (uint64_t)s[1] << 8 | (uint64_t)s[2] << 16 | (uint64_t)s[3] << 24; }
static inline uint64_t farm_right(uint64_t value, int by) { return value >> by | value << (64 - by); }
static inline uint64_t farm_mix(uint64_t value) { return value ^ value >> 47; }
static inline uint64_t farm_16(uint64_t u, uint64_t v, uint64_t mul) {
    uint64_t a = farm_mix((u ^ v) * mul);
    return farm_mix((v ^ a) * mul) * mul;
}

static uint64_t farm_short(const uint8_t *s, int64_t n) {
    uint64_t mul = FARM_2 + (uint64_t)n * 2;
    if (n >= 8) {
        uint64_t a = farm_at(s) + FARM_2, b = farm_at(s + n - 8);
        return farm_16(farm_right(b, 37) * mul + a, (farm_right(a, 25) + b) * mul, mul);
    }
    if (n >= 4) return farm_16((uint64_t)n + (farm_half_at(s) << 3), farm_half_at(s + n - 4), mul);
    if (!n) return FARM_2;
    uint64_t y = s[0] + ((uint64_t)s[n >> 1] << 8), z = (uint64_t)n + ((uint64_t)s[n - 1] << 2);
    return farm_mix(y * FARM_2 ^ z * FARM_0) * FARM_2;
}

static uint64_t farm_up_to_64(const uint8_t *s, int64_t n) {
    uint64_t mul = FARM_2 + (uint64_t)n * 2, b = farm_at(s + 8), c = farm_at(s + n - 8) * mul, d = farm_at(s + n - 16) * FARM_2;
    if (n <= 32) {
        uint64_t a = farm_at(s) * FARM_1;
        return farm_16(farm_right(a + b, 43) + farm_right(c, 30) + d, a + farm_right(b + FARM_2, 18) + c, mul);
    }
    uint64_t a = farm_at(s) * FARM_2, y = farm_right(a + b, 43) + farm_right(c, 30) + d;
    uint64_t z = farm_16(y, a + farm_right(b + FARM_2, 18) + c, mul);
    uint64_t e = farm_at(s + 16) * mul, f = farm_at(s + 24);
    uint64_t g = (y + farm_at(s + n - 32)) * mul, h = (z + farm_at(s + n - 24)) * mul;
    return farm_16(farm_right(e + f, 43) + farm_right(g, 30) + h, e + farm_right(f + a, 18) + g, mul);
}

/* 32 bytes, mixed into a pair. */
static inline void farm_weak(const uint8_t *s, uint64_t a, uint64_t b, uint64_t into[2]) {
    uint64_t z = farm_at(s + 24);
    a += farm_at(s);
    b = farm_right(b + a + z, 21);
    uint64_t c = a;
    a += farm_at(s + 8) + farm_at(s + 16);
    into[0] = a + z;
    into[1] = b + farm_right(a, 44) + c;
}

/* 64 bytes, mixed into the state; `last` says how the last ones are. */
static inline void farm_block(const uint8_t *s, uint64_t mul, bool last, uint64_t *x, uint64_t *y, uint64_t *z, uint64_t v[2], uint64_t w[2]) {
    uint64_t nine = last ? 9 : 1;
    *x = farm_right(*x + *y + v[0] + farm_at(s + 8), 37) * mul;
    *y = farm_right(*y + v[1] + farm_at(s + 48), 42) * mul;
    *x ^= w[1] * nine;
    *y += v[0] * nine + farm_at(s + 40);
    *z = farm_right(*z + w[0], 33) * mul;
    farm_weak(s, v[1] * mul, *x + w[0], v);
    farm_weak(s + 32, *z + w[1], *y + farm_at(s + 16), w);
    uint64_t swapped = *z;
    *z = *x;
    *x = swapped;
}

static uint64_t fingerprint(const uint8_t *s, int64_t n) {
    if (n <= 16) return farm_short(s, n);
    if (n <= 64) return farm_up_to_64(s, n);
    uint64_t x = 81, y = 81 * FARM_1 + 113, z = farm_mix(y * FARM_2 + 113) * FARM_2, v[2] = {0, 0}, w[2] = {0, 0};
    x = x * FARM_2 + farm_at(s);
    int64_t whole = (n - 1) / 64 * 64;
    for (int64_t i = 0; i < whole; i += 64) farm_block(s + i, FARM_1, false, &x, &y, &z, v, w);
    uint64_t mul = FARM_1 + ((z & 0xFF) << 1);
    w[0] += (uint64_t)((n - 1) & 63);
    v[0] += w[0];
    w[0] += v[0];
    farm_block(s + n - 64, mul, true, &x, &y, &z, v, w);
    return farm_16(farm_16(v[0], w[0], mul) + farm_mix(y) * FARM_0 + z, farm_16(v[1], w[1], mul) + x, mul);
}

/* buckets(strings, count): the fingerprint of each string, divided by the number of buckets. */
static PyObject *k_buckets(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    int64_t count, size;
    const uint8_t *data;
    if (!x || !PyArray_NDIM(x) || !whole_at(call, 1, &count) || count < 1) return NULL;
    PyArrayObject *made = fresh(NPY_INT64, PyArray_NDIM(x), PyArray_DIMS(x));
    if (!made) return NULL;
    int64_t *out = PyArray_DATA(made);
    for (int64_t i = 0; i < PyArray_SIZE(x); i++) {
        if (!bytes_at(x, i, &data, &size)) {
            Py_DECREF((PyObject *)made);
            return NULL;
        }
        out[i] = (int64_t)(fingerprint(data, size) % (uint64_t)count);
    }
    return (PyObject *)made;
}

/* ---- parts */

typedef struct {
    bool separates[256], skips, whole; /* whether empty parts are left out; whether an empty string has one part, an empty one */
} Splitting;

/* Where the next part ends, from `begin` on; -1 where there is none. */
static inline int64_t next_part(const Splitting *s, const uint8_t *data, int64_t size, int64_t *begin) {
    if (!size && !s->whole) return -1;
    if (s->skips)
        while (*begin < size && s->separates[data[*begin]]) ++*begin;
    if (*begin > size || (s->skips && *begin == size)) return -1;
    int64_t end = *begin;
    while (end < size && !s->separates[data[end]]) end++;
    return end;
}

/* split(strings, separators, leaves out what is empty, whether an empty string has a part): the places of the parts, the parts, and
 * the shape of the matrix that they fill. */
static PyObject *k_split(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || PyArray_NDIM(x) != 1 || call->count != 4 || !PyBytes_Check(call->args[1])) return NULL;
    Splitting s = {.skips = call->args[2] == Py_True, .whole = call->args[3] == Py_True};
    char *separators;
    Py_ssize_t some;
    if (PyBytes_AsStringAndSize(call->args[1], &separators, &some)) return NULL;
    if (!some) return NULL;
    for (Py_ssize_t i = 0; i < some; i++) s.separates[(uint8_t)separators[i]] = true;
    int64_t rows = PyArray_SIZE(x), parts = 0, longest = 0, size = 0, end;
    const uint8_t *data = NULL;
    for (int64_t row = 0; row < rows; row++) {
        if (!bytes_at(x, row, &data, &size)) return NULL;
        int64_t before = parts;
        for (int64_t at = 0; (end = next_part(&s, data, size, &at)) >= 0; at = end + 1) parts++;
        if (parts - before > longest) longest = parts - before;
    }
    npy_intp sizes[2] = {parts, 2}, two = 2;
    PyArrayObject *places = fresh(NPY_INT64, 2, sizes), *values = fresh(NPY_OBJECT, 1, sizes), *shape = fresh(NPY_INT64, 1, &two);
    PyObject *all = places && values && shape ? PyTuple_New(3) : NULL;
    if (!all) {
        Py_XDECREF((PyObject *)places);
        Py_XDECREF((PyObject *)values);
        Py_XDECREF((PyObject *)shape);
        return NULL;
    }
    PyTuple_SetItem(all, 0, (PyObject *)places);
    PyTuple_SetItem(all, 1, (PyObject *)values);
    PyTuple_SetItem(all, 2, (PyObject *)shape);
    int64_t *place = PyArray_DATA(places), part = 0;
    PyObject **value = PyArray_DATA(values);
    for (int64_t row = 0; row < rows; row++) {
        bytes_at(x, row, &data, &size);
        int64_t column = 0;
        for (int64_t at = 0; (end = next_part(&s, data, size, &at)) >= 0; at = end + 1, part++) {
            PyObject *made = PyBytes_FromStringAndSize((const char *)data + at, end - at), *old = value[part];
            if (!made) {
                Py_DECREF(all);
                return NULL;
            }
            value[part] = made;
            Py_XDECREF(old);
            place[2 * part] = row;
            place[2 * part + 1] = column++;
        }
    }
    ((int64_t *)PyArray_DATA(shape))[0] = rows;
    ((int64_t *)PyArray_DATA(shape))[1] = longest;
    return all;
}

/* ---- SipHash-2-4 (Aumasson and Bernstein, 2012) */

static inline void sip_round(uint64_t v[4]) {
    v[0] += v[1], v[2] += v[3];
    v[1] = farm_right(v[1], 51) ^ v[0], v[3] = farm_right(v[3], 48) ^ v[2];
    v[0] = farm_right(v[0], 32);
    v[2] += v[1], v[0] += v[3];
    v[1] = farm_right(v[1], 47) ^ v[2], v[3] = farm_right(v[3], 43) ^ v[0];
    v[2] = farm_right(v[2], 32);
}

static uint64_t siphash(const uint8_t *s, int64_t n, const uint64_t key[2]) {
    uint64_t v[4] = {key[0] ^ 0x736F6D6570736575u, key[1] ^ 0x646F72616E646F6Du, key[0] ^ 0x6C7967656E657261u, key[1] ^ 0x7465646279746573u};
    for (int64_t left = n;; left -= 8, s += 8) {
        uint64_t word = left < 8 ? (uint64_t)n << 56 : farm_at(s);
        for (int64_t i = 0; left < 8 && i < left; i++) word |= (uint64_t)s[i] << 8 * i;
        v[3] ^= word;
        sip_round(v);
        sip_round(v);
        v[0] ^= word;
        if (left < 8) break;
    }
    v[2] ^= 0xFF;
    for (int i = 0; i < 4; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* strong_buckets(strings, count, key of 16 bytes): the hash of each string under the key, divided by the number of buckets. */
static PyObject *k_strong_buckets(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    int64_t count, size;
    const uint8_t *data;
    if (!x || !PyArray_NDIM(x) || call->count != 3 || !whole_at(call, 1, &count) || count < 1) return NULL;
    if (!PyBytes_CheckExact(call->args[2]) || PyBytes_Size(call->args[2]) != 16) return NULL;
    const uint8_t *bytes = (const uint8_t *)PyBytes_AsString(call->args[2]);
    uint64_t key[2] = {farm_at(bytes), farm_at(bytes + 8)};
    PyArrayObject *made = fresh(NPY_INT64, PyArray_NDIM(x), PyArray_DIMS(x));
    if (!made) return NULL;
    int64_t *out = PyArray_DATA(made);
    for (int64_t i = 0; i < PyArray_SIZE(x); i++) {
        if (!bytes_at(x, i, &data, &size)) {
            Py_DECREF((PyObject *)made);
            return NULL;
        }
        out[i] = (int64_t)(siphash(data, size, key) % (uint64_t)count);
    }
    return (PyObject *)made;
}

/* ---- numbers */

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

/* A decimal number: digits, perhaps a point, perhaps an exponent. Others, such as "inf", are left to Python. */
static bool decimal_of(const uint8_t *data, int64_t size, double *into) {
    static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const uint8_t *s = data, *end = data + size;
    while (s < end && is_white(*s)) s++;
    while (s < end && is_white(end[-1])) end--;
    const uint8_t *begin = s;
    Decimal d = {.exact = true};
    if (s < end && (*s == '+' || *s == '-')) d.minus = *s++ == '-';
    s = digits_of(s, end, &d, false);
    if (s < end && *s == '.') s = digits_of(s + 1, end, &d, true);
    if (!d.seen) return false;
    if (s < end && (*s | 32) == 'e') {
        s++;
        if (s < end && (*s == '+' || *s == '-')) s++;
        if (s == end) return false;
        while (s < end && is_digit(*s)) s++;
        if (!is_digit(s[-1])) return false;
        d.exact = false;
    }
    if (s != end) return false;
    if (d.exact && d.scale < 16) {
        double value = (double)d.digits / tens[d.scale];
        *into = d.minus ? -value : value;
        return true;
    }
    char *stops; /* what lies behind a string's last byte is a zero, so the reading ends there at the latest */
    *into = PyOS_string_to_double((const char *)begin, &stops, NULL);
    if (PyErr_Occurred()) PyErr_Clear();
    return (const uint8_t *)stops == end;
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
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 2 || !PyUnicode_Check(call->args[1]) || PyUnicode_GetLength(call->args[1]) != 1) return NULL;
    Py_UCS4 letter = PyUnicode_ReadChar(call->args[1], 0);
    int type = letter == 'f' ? NPY_FLOAT32 : letter == 'd' ? NPY_FLOAT64 : letter == 'i' ? NPY_INT32 : letter == 'l' ? NPY_INT64 : -1;
    if (type < 0) return NULL;
    PyArrayObject *out = fresh(type, PyArray_NDIM(x), PyArray_DIMS(x));
    if (!out) return NULL;
    void *made = PyArray_DATA(out);
    int64_t size, whole = 0, most = type == NPY_INT32 ? INT32_MAX : INT64_MAX;
    double real = 0;
    const uint8_t *data;
    for (int64_t i = 0; i < PyArray_SIZE(x); i++) {
        bool read = bytes_at(x, i, &data, &size);
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

/* ---- strings of strings */

/* Puts a new string of `size` bytes into an array that holds nothing, or None, there. NULL with an exception. */
static char *room_for(PyObject **place, int64_t size) {
    PyObject *made = PyBytes_FromStringAndSize(NULL, size), *old = *place;
    if (!made) return NULL;
    *place = made;
    Py_XDECREF(old);
    return PyBytes_AsString(made);
}

/* lowered(strings, upper): letters of ASCII in lower case, or in upper case. */
static PyObject *k_lowered(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 2) return NULL;
    uint8_t least = call->args[1] == Py_True ? 'a' : 'A';
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(x), PyArray_DIMS(x));
    PyObject **made = out ? PyArray_DATA(out) : NULL;
    int64_t size;
    const uint8_t *data;
    for (int64_t i = 0; out && i < PyArray_SIZE(x); i++) {
        char *room = bytes_at(x, i, &data, &size) ? room_for(made + i, size) : NULL;
        if (!room) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        for (int64_t k = 0; k < size; k++) room[k] = (char)(data[k] ^ ((uint8_t)(data[k] - least) < 26 ? 32 : 0));
    }
    return (PyObject *)out;
}

enum { MOST_GLUED = 16 };

/* glued(separator, *strings): arrays of one shape, element by element behind each other. */
static PyObject *k_glued(const Call *call) {
    Py_ssize_t parts = call->count - 1;
    if (parts < 1 || parts > MOST_GLUED || !PyBytes_CheckExact(call->args[0])) return NULL;
    PyArrayObject *arrays[MOST_GLUED];
    for (Py_ssize_t k = 0; k < parts; k++) {
        arrays[k] = typed_at(call, k + 1, NPY_OBJECT);
        if (!arrays[k] || !PyArray_NDIM(arrays[k]) || !same_shape(arrays[0], arrays[k])) return NULL;
    }
    const char *between = PyBytes_AsString(call->args[0]);
    int64_t gap = PyBytes_Size(call->args[0]), sizes[MOST_GLUED];
    const uint8_t *data[MOST_GLUED];
    PyArrayObject *out = fresh(NPY_OBJECT, PyArray_NDIM(arrays[0]), PyArray_DIMS(arrays[0]));
    PyObject **made = out ? PyArray_DATA(out) : NULL;
    for (int64_t i = 0; out && i < PyArray_SIZE(out); i++) {
        int64_t total = gap * (parts - 1);
        bool strings = true;
        for (Py_ssize_t k = 0; strings && k < parts; k++) {
            strings = bytes_at(arrays[k], i, data + k, sizes + k);
            if (strings) total += sizes[k];
        }
        char *room = strings ? room_for(made + i, total) : NULL;
        if (!room) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        for (Py_ssize_t k = 0; k < parts; k++) {
            if (k) memcpy(room, between, (size_t)gap), room += gap;
            memcpy(room, data[k], (size_t)sizes[k]), room += sizes[k];
        }
    }
    return (PyObject *)out;
}

/* lengths(strings): how many bytes each has. */
static PyObject *k_lengths(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_OBJECT);
    if (!x || !PyArray_NDIM(x) || call->count != 1) return NULL;
    PyArrayObject *out = fresh(NPY_INT32, PyArray_NDIM(x), PyArray_DIMS(x));
    int32_t *made = out ? PyArray_DATA(out) : NULL;
    int64_t size;
    const uint8_t *data;
    for (int64_t i = 0; out && i < PyArray_SIZE(x); i++) {
        if (!bytes_at(x, i, &data, &size) || size > INT32_MAX) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        made[i] = (int32_t)size;
    }
    return (PyObject *)out;
}
