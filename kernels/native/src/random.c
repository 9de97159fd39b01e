/* Random numbers of float32: Philox 4x64 with 10 rounds (Salmon et al. 2011), the bits that `kernels/random/philox.py` defines. Blocks
 * of the stream are independent, so several threads may fill a large array.
 *
 * A piece is computed in two passes that stay in the cache: the words of its blocks, then the numbers that a `Draw` makes of them.
 * Logarithms, sines and cosines are numpy's own loops, so the numbers are those of the Python kernel to the bit. */

enum { NUMBERS = 8, ROUNDS = 10, SIDE_BY_SIDE = 2, DRAWN_BLOCKS = 256, DRAWN = DRAWN_BLOCKS * NUMBERS, RANDOM_PIECE = 2048 };

/* Makes `count` numbers, a multiple of NUMBERS and at most DRAWN, of as many words. */
typedef void (*Draw)(const uint32_t *words, float *out, int64_t count);

typedef struct {
    uint64_t keys[ROUNDS][2], run, kind; /* the keys of all rounds are those of every block */
    int64_t size;
    Draw draw;
    float *out;
} Stream;

static inline uint64_t wide_product(uint64_t a, uint64_t b, uint64_t *high) {
    unsigned __int128 wide = (unsigned __int128)a * b;
    *high = (uint64_t)(wide >> 64);
    return (uint64_t)wide;
}

/* Some blocks side by side: a round of one waits for its multiplications, and those of others fill the time. */
static inline __attribute__((always_inline)) void some_blocks(const Stream *s, int64_t block, const int some, uint32_t *words) {
    uint64_t c[SIDE_BY_SIDE][4];
    for (int b = 0; b < some; b++) c[b][0] = (uint64_t)(block + b) + 1, c[b][1] = 0, c[b][2] = s->run, c[b][3] = s->kind;
    _Pragma("GCC unroll 10") for (int round = 0; round < ROUNDS; round++)
        for (int b = 0; b < some; b++) {
            uint64_t high0, high1, low0 = wide_product(c[b][0], 0xD2E7470EE14C6C93u, &high0);
            uint64_t low1 = wide_product(c[b][2], 0xCA5A826395121157u, &high1);
            c[b][0] = high1 ^ c[b][1] ^ s->keys[round][0];
            c[b][1] = low1;
            c[b][2] = high0 ^ c[b][3] ^ s->keys[round][1];
            c[b][3] = low0;
        }
    for (int i = 0; i < some * 4; i++) words[2 * i] = (uint32_t)c[i / 4][i % 4], words[2 * i + 1] = (uint32_t)(c[i / 4][i % 4] >> 32);
}

static void draw_uniform(const uint32_t *words, float *out, int64_t count) {
    for (int64_t i = 0; i < count; i++) out[i] = (float)(int32_t)(words[i] >> 8) * 0x1p-24f;
}

/* Box and Muller: r cos t and r sin t. */
static void draw_normal(const uint32_t *words, float *out, int64_t count) {
    float radius[DRAWN / 2], angle[DRAWN / 2], cosine[DRAWN / 2];
    const int64_t pairs = count / 2;
    const float turn = (float)(3.14159265358979323846 / 2147483648.0);
    for (int64_t j = 0; j < pairs; j++) {
        radius[j] = (float)((int32_t)(words[2 * j] >> 8) + 1) * 0x1p-24f;
        angle[j] = (float)(int32_t)words[2 * j + 1] * turn;
    }
    numpy_call(&numpy_loops[NUMPY_LOG][0], radius, radius, pairs, sizeof(float));
    for (int64_t j = 0; j < pairs; j++) radius[j] = sqrtf(radius[j] * -2.0f);
    numpy_call(&numpy_loops[NUMPY_COS][0], angle, cosine, pairs, sizeof(float));
    numpy_call(&numpy_loops[NUMPY_SIN][0], angle, angle, pairs, sizeof(float));
    for (int64_t j = 0; j < pairs; j++) out[2 * j] = radius[j] * cosine[j], out[2 * j + 1] = radius[j] * angle[j];
}

/* √2 erf⁻¹(x) by Giles' polynomial for the centre (2010), which |x| < 0.9545 does not leave. */
static void draw_truncated_normal(const uint32_t *words, float *out, int64_t count) {
    static const float coefficients[9] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                                          -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
    const float unit = (float)(0x1p-23 * 0.95449973610364158559943472566693); /* erf(√2) */
    const float root = (float)1.41421356237309504880, limit = 0x1.fffffep0f;  /* the largest number below 2 */
    float w[DRAWN];
    for (int64_t i = 0; i < count; i++) {
        out[i] = ((float)((int32_t)(words[i] >> 8) - (1 << 23)) + 0.5f) * unit;
        w[i] = 1.0f - out[i] * out[i];
    }
    numpy_call(&numpy_loops[NUMPY_LOG][0], w, w, count, sizeof(float));
    for (int64_t i = 0; i < count; i++) {
        float x = -w[i] - 2.5f, p = coefficients[0];
        for (int k = 1; k < 9; k++) p = p * x + coefficients[k];
        float number = out[i] * (p * root);
        out[i] = number > limit ? limit : number < -limit ? -limit : number;
    }
}

static void drawn_blocks(int64_t begin, int64_t count, const void *given) {
    const Stream *s = given;
    uint32_t words[DRAWN];
    float last[DRAWN];
    for (int64_t end = begin + count; begin < end; begin += DRAWN_BLOCKS) {
        int64_t blocks = end - begin < DRAWN_BLOCKS ? end - begin : DRAWN_BLOCKS, block = 0;
        for (; block + SIDE_BY_SIDE <= blocks; block += SIDE_BY_SIDE) some_blocks(s, begin + block, SIDE_BY_SIDE, words + block * NUMBERS);
        for (; block < blocks; block++) some_blocks(s, begin + block, 1, words + block * NUMBERS);
        int64_t start = begin * NUMBERS, left = s->size - start, numbers = blocks * NUMBERS;
        if (left >= numbers)
            s->draw(words, s->out + start, numbers);
        else {
            s->draw(words, last, numbers);
            memcpy(s->out + start, last, left * sizeof(float));
        }
    }
}

/* drawn(shape, key, run, kind, out or nothing); `cost` is the work for a number. */
static PyObject *drawn(const Call *call, Draw draw, int64_t cost) {
    PyArrayObject *shape = indices_at(call, 0), *key = typed_at(call, 1, NPY_UINT64);
    int64_t run, kind;
    if (!shape || !key || PyArray_NDIM(shape) != 1 || PyArray_SIZE(key) != 2) return NULL;
    if (!whole_at(call, 2, &run) || !whole_at(call, 3, &kind)) return NULL;
    npy_intp sizes[DEEPEST];
    int64_t rank = PyArray_SIZE(shape), size = 1;
    if (rank > DEEPEST) return NULL;
    for (int i = 0; i < rank; i++) {
        sizes[i] = number(PyArray_DATA(shape), is_wide(shape), i);
        if (sizes[i] < 0 || sizes[i] > ((int64_t)1 << 40)) return NULL;
        if (__builtin_mul_overflow(size, (int64_t)sizes[i], &size)) return NULL;
    }
    if (left_to_python(call, cost * size)) return NULL;
    PyArrayObject *numbers = result_at(call, 4, NPY_FLOAT32, (int)rank, sizes);
    if (!numbers) return NULL;
    const uint64_t *words = PyArray_DATA(key);
    Stream s = {.run = (uint64_t)run, .kind = (uint64_t)kind, .size = size, .draw = draw, .out = PyArray_DATA(numbers)};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        s.keys[round][0] = words[0] + round * 0x9E3779B97F4A7C15u;
        s.keys[round][1] = words[1] + round * 0xBB67AE8584CAA73Bu;
    }
    work_through(call, drawn_blocks, &s, (size + NUMBERS - 1) / NUMBERS, RANDOM_PIECE, cost * size);
    return (PyObject *)numbers;
}

static PyObject *k_uniform(const Call *call) { return drawn(call, draw_uniform, 4); }
static PyObject *k_normal(const Call *call) { return drawn(call, draw_normal, 12); }
static PyObject *k_truncated_normal(const Call *call) { return drawn(call, draw_truncated_normal, 12); }
