/* Uniform random numbers of float32: Philox 4x64 with 10 rounds (Salmon et al. 2011), the bits that `kernels/random/philox.py`
 * defines. Blocks of the stream are independent, so several threads may fill a large array. */

enum { NUMBERS = 8, ROUNDS = 10, SIDE_BY_SIDE = 2, RANDOM_PIECE = 2048 };

typedef struct {
    uint64_t keys[ROUNDS][2], run; /* the keys of all rounds are those of every block */
    int64_t size;
    float *out;
} Stream;

static inline uint64_t wide_product(uint64_t a, uint64_t b, uint64_t *high) {
    unsigned __int128 wide = (unsigned __int128)a * b;
    *high = (uint64_t)(wide >> 64);
    return (uint64_t)wide;
}

/* Some blocks side by side: a round of one waits for its multiplications, and those of others fill the time. */
static inline __attribute__((always_inline)) void some_blocks(const Stream *s, int64_t block, const int some) {
    uint64_t c[SIDE_BY_SIDE][4];
    for (int b = 0; b < some; b++) c[b][0] = (uint64_t)(block + b) + 1, c[b][1] = 0, c[b][2] = s->run, c[b][3] = 0;
    _Pragma("GCC unroll 10") for (int round = 0; round < ROUNDS; round++)
        for (int b = 0; b < some; b++) {
            uint64_t high0, high1, low0 = wide_product(c[b][0], 0xD2E7470EE14C6C93u, &high0);
            uint64_t low1 = wide_product(c[b][2], 0xCA5A826395121157u, &high1);
            c[b][0] = high1 ^ c[b][1] ^ s->keys[round][0];
            c[b][1] = low1;
            c[b][2] = high0 ^ c[b][3] ^ s->keys[round][1];
            c[b][3] = low0;
        }
    uint32_t halves[SIDE_BY_SIDE * NUMBERS];
    float numbers[SIDE_BY_SIDE * NUMBERS];
    for (int i = 0; i < some * 4; i++) halves[2 * i] = (uint32_t)c[i / 4][i % 4], halves[2 * i + 1] = (uint32_t)(c[i / 4][i % 4] >> 32);
    for (int i = 0; i < some * NUMBERS; i++) numbers[i] = (float)(int32_t)(halves[i] >> 8) * 0x1p-24f;
    int64_t start = block * NUMBERS, left = s->size - start;
    if (left >= some * NUMBERS)
        memcpy(s->out + start, numbers, some * NUMBERS * sizeof(float));
    else
        memcpy(s->out + start, numbers, left * sizeof(float));
}

static void uniform_blocks(int64_t begin, int64_t count, const void *given) {
    int64_t block = begin, end = begin + count;
    for (; block + SIDE_BY_SIDE <= end; block += SIDE_BY_SIDE) some_blocks(given, block, SIDE_BY_SIDE);
    for (; block < end; block++) some_blocks(given, block, 1);
}

/* uniform(shape, key, run, out or nothing) */
static PyObject *k_uniform(const Call *call) {
    PyArrayObject *shape = indices_at(call, 0), *key = typed_at(call, 1, NPY_UINT64);
    int64_t run;
    if (!shape || !key || PyArray_NDIM(shape) != 1 || PyArray_SIZE(key) != 2 || !whole_at(call, 2, &run)) return NULL;
    npy_intp sizes[DEEPEST];
    int64_t rank = PyArray_SIZE(shape), size = 1;
    if (rank > DEEPEST) return NULL;
    for (int i = 0; i < rank; i++) {
        sizes[i] = number(PyArray_DATA(shape), is_wide(shape), i);
        if (sizes[i] < 0 || sizes[i] > ((int64_t)1 << 40)) return NULL;
        if (__builtin_mul_overflow(size, (int64_t)sizes[i], &size)) return NULL;
    }
    if (left_to_governor(call, 4 * size)) return NULL;
    PyArrayObject *made = result_at(call, 3, NPY_FLOAT32, (int)rank, sizes);
    if (!made) return NULL;
    const uint64_t *words = PyArray_DATA(key);
    Stream s = {.run = (uint64_t)run, .size = size, .out = PyArray_DATA(made)};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        s.keys[round][0] = words[0] + round * 0x9E3779B97F4A7C15u;
        s.keys[round][1] = words[1] + round * 0xBB67AE8584CAA73Bu;
    }
    work_through(call, uniform_blocks, &s, (size + NUMBERS - 1) / NUMBERS, RANDOM_PIECE, 4 * size);
    return (PyObject *)made;
}
