/* Hashes of strings. */
#include "packed.h"

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
    Strings x;
    int64_t count, size;
    const uint8_t *data;
    if (!strings_at(call, 0, &x) || !whole_at(call, 1, &count) || count < 1) return NULL;
    PyArrayObject *made = fresh(NPY_INT64, x.rank, x.sizes);
    if (!made) return NULL;
    int64_t *out = PyArray_DATA(made);
    for (int64_t i = 0; i < x.count; i++) {
        if (!bytes_at(&x, i, &data, &size)) {
            Py_DECREF((PyObject *)made);
            return NULL;
        }
        out[i] = (int64_t)(fingerprint(data, size) % (uint64_t)count);
    }
    return (PyObject *)made;
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
    Strings x;
    int64_t count, size;
    const uint8_t *data;
    if (!strings_at(call, 0, &x) || call->count != 3 || !whole_at(call, 1, &count) || count < 1) return NULL;
    if (!PyBytes_CheckExact(call->args[2]) || PyBytes_Size(call->args[2]) != 16) return NULL;
    const uint8_t *bytes = (const uint8_t *)PyBytes_AsString(call->args[2]);
    uint64_t key[2] = {farm_at(bytes), farm_at(bytes + 8)};
    PyArrayObject *made = fresh(NPY_INT64, x.rank, x.sizes);
    if (!made) return NULL;
    int64_t *out = PyArray_DATA(made);
    for (int64_t i = 0; i < x.count; i++) {
        if (!bytes_at(&x, i, &data, &size)) {
            Py_DECREF((PyObject *)made);
            return NULL;
        }
        out[i] = (int64_t)(siphash(data, size, key) % (uint64_t)count);
    }
    return (PyObject *)made;
}


/* ---- TensorFlow's own hash: MurmurHash2 for 64 bits with a seed of its own */

static uint64_t murmur(const uint8_t *s, int64_t n) {
    const uint64_t mul = 0xC6A4A7935BD1E995u;
    uint64_t hash = 0xDECAFCAFFEu ^ (uint64_t)n * mul;
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t word = farm_at(s) * mul;
        hash = (hash ^ farm_mix(word) * mul) * mul;
    }
    uint64_t rest = 0;
    for (int64_t i = 0; i < n; i++) rest |= (uint64_t)s[i] << 8 * i;
    if (n) hash = (hash ^ rest) * mul;
    return farm_mix(farm_mix(hash) * mul);
}

/* old_buckets(strings, count): TensorFlow's own hash of each string, divided by the number of buckets. */
static PyObject *k_old_buckets(const Call *call) {
    Strings x;
    int64_t count, size;
    const uint8_t *data;
    if (!strings_at(call, 0, &x) || !whole_at(call, 1, &count) || count < 1) return NULL;
    PyArrayObject *out = fresh(NPY_INT64, x.rank, x.sizes);
    int64_t *bucket = out ? PyArray_DATA(out) : NULL;
    for (int64_t i = 0; out && i < x.count; i++) {
        if (!bytes_at(&x, i, &data, &size)) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        bucket[i] = (int64_t)(murmur(data, size) % (uint64_t)count);
    }
    return (PyObject *)out;
}
