/* Uniform random numbers of float32: Philox 4x64 with 10 rounds (Salmon et al. 2011), the bits that `kernels/random/philox.py`
 * defines. Blocks of the stream are independent, so several threads may fill a large array. */

enum { NUMBERS = 8, RANDOM_PIECE = 2048 };

typedef struct {
    uint64_t key[2], run;
    int64_t size;
    float *out;
} Stream;

static inline uint64_t product(uint64_t a, uint64_t b, uint64_t *high) {
    unsigned __int128 wide = (unsigned __int128)a * b;
    *high = (uint64_t)(wide >> 64);
    return (uint64_t)wide;
}

static void uniform_blocks(int64_t begin, int64_t count, const void *given) {
    const Stream *s = given;
    for (int64_t block = begin; block < begin + count; block++) {
        uint64_t c[4] = {(uint64_t)block + 1, 0, s->run, 0}, key[2] = {s->key[0], s->key[1]};
        for (int round = 0; round < 10; round++) {
            uint64_t high0, high1, low0 = product(c[0], 0xD2E7470EE14C6C93u, &high0), low1 = product(c[2], 0xCA5A826395121157u, &high1);
            c[0] = high1 ^ c[1] ^ key[0];
            c[1] = low1;
            c[2] = high0 ^ c[3] ^ key[1];
            c[3] = low0;
            key[0] += 0x9E3779B97F4A7C15u;
            key[1] += 0xBB67AE8584CAA73Bu;
        }
        float numbers[NUMBERS];
        for (int k = 0; k < 4; k++) {
            numbers[2 * k] = (float)(int32_t)(c[k] >> 8 & 0xFFFFFF) * 0x1p-24f;
            numbers[2 * k + 1] = (float)(int32_t)(c[k] >> 40 & 0xFFFFFF) * 0x1p-24f;
        }
        int64_t start = block * NUMBERS, left = s->size - start;
        memcpy(s->out + start, numbers, (left < NUMBERS ? left : NUMBERS) * sizeof(float));
    }
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
    Stream s = {{words[0], words[1]}, (uint64_t)run, size, PyArray_DATA(made)};
    work_through(call, uniform_blocks, &s, (size + NUMBERS - 1) / NUMBERS, RANDOM_PIECE, 4 * size);
    return (PyObject *)made;
}
