/* Attention over keys and values that lie in pages: blocks of a pool, which a table names for each sequence.
 *
 * Each query is a token of its own, with its sequence and its place in it: it sees the tokens of its sequence up to itself. So tokens of
 * sequences of any length, and several of one sequence, go through one call without a padded row. A query's sums are over its own
 * tokens in their order: its bits do not depend on what else is in the call, nor on where its blocks lie.
 */

typedef struct {
    const float *query, *keys, *values; /* [token, head, size], and pools of [slot, head, size] */
    float *out;
    const int32_t *tables, *owners, *places;
    int64_t tokens, heads, held, size, blocks, block, longest;
    float scale;
    int *failed;
} Paged;

static inline float dot_f4(const float *a, const float *b, int64_t size) {
    Lane sum = {0};
    int64_t k = 0;
    for (; k + LANE <= size; k += LANE) sum += *(const Lane *)(a + k) * *(const Lane *)(b + k);
    float whole = 0;
    for (int j = 0; j < LANE; j++) whole += sum[j];
    for (; k < size; k++) whole += a[k] * b[k];
    return whole;
}

static inline int64_t of_block(const Paged *p, const int32_t *table, int64_t block) {
    return (int64_t)table[block] * p->block * p->held * p->size;
}

static void paged_heads(int64_t begin, int64_t count, const void *given) {
    const Paged *p = given;
    const int64_t size = p->size, row = p->held * size, block = p->block, shared = p->heads / p->held;
    float *scores = malloc((size_t)p->longest * sizeof(float));
    if (!scores) {
        __atomic_store_n(p->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t token = i / p->heads, of = i % p->heads / shared * size, seen = p->places[token] + 1;
        const int32_t *table = p->tables + p->owners[token] * p->blocks;
        const float *query = p->query + i * size;
        float *restrict out = p->out + i * size;
        for (int64_t t = 0, b = 0; t < seen; t += block, b++) {
            const float *key = p->keys + of_block(p, table, b) + of;
            for (int64_t j = 0; j < block && t + j < seen; j++) scores[t + j] = dot_f4(query, key + j * row, size) * p->scale;
        }
        powers_f4(scores, largest_f4_of_row(scores, seen), scores, seen);
        float inverse = 1.0f / (float)lanes_f4(scores, seen);
        for (int64_t k = 0; k < size; k++) out[k] = 0;
        for (int64_t t = 0, b = 0; t < seen; t += block, b++) {
            const float *value = p->values + of_block(p, table, b) + of;
            for (int64_t j = 0; j < block && t + j < seen; j++)
                for (int64_t k = 0; k < size; k++) out[k] += scores[t + j] * value[j * row + k];
        }
        for (int64_t k = 0; k < size; k++) out[k] *= inverse;
    }
    free(scores);
}

/* Whether each token's place is in its table, and all blocks up to it in the pool. */
static bool pages_fit(const Paged *p, int64_t sequences, int64_t slots, int64_t *sum) {
    *sum = 0;
    int64_t longest = 0;
    for (int64_t i = 0; i < p->tokens; i++) {
        int64_t owner = p->owners[i], place = p->places[i];
        if (owner < 0 || owner >= sequences || place < 0 || place >= p->blocks * p->block) return false;
        for (int64_t b = 0; b <= place / p->block; b++) {
            int64_t block = p->tables[owner * p->blocks + b];
            if (block < 0 || block >= slots / p->block) return false;
        }
        *sum += place + 1;
        if (place + 1 > longest) longest = place + 1;
    }
    ((Paged *)p)->longest = longest;
    return true;
}

/* paged_attention(keys, values, query, key, value, tables, owners, places, block, scale): writes each token's key and value to its place in
 * the pools, and gives what its query sees. */
static PyObject *k_paged_attention(const Call *call) {
    if (call->count != 10) return NULL;
    PyArrayObject *f[5], *n[3];
    for (int i = 0; i < 5; i++)
        if (!(f[i] = typed_at(call, i, NPY_FLOAT32)) || PyArray_NDIM(f[i]) != 3) return NULL;
    for (int i = 0; i < 3; i++)
        if (!(n[i] = typed_at(call, 5 + i, NPY_INT32)) || PyArray_NDIM(n[i]) != (i ? 1 : 2)) return NULL;
    int64_t block;
    Paged p = {0};
    if (!whole_at(call, 8, &block) || !float_at(call, 9, &p.scale) || block < 1) return NULL;
    if (!PyArray_ISWRITEABLE(f[0]) || !PyArray_ISWRITEABLE(f[1]) || !same_shape(f[0], f[1]) || !same_shape(f[3], f[4])) return NULL;
    p.tokens = PyArray_DIM(f[2], 0), p.heads = PyArray_DIM(f[2], 1), p.size = PyArray_DIM(f[2], 2), p.held = PyArray_DIM(f[0], 1);
    p.blocks = PyArray_DIM(n[0], 1), p.block = block;
    if (!p.tokens || !p.held || !p.size || !p.heads || p.heads % p.held) return NULL;
    if (PyArray_DIM(f[0], 2) != p.size || PyArray_DIM(f[3], 0) != p.tokens || PyArray_DIM(f[3], 1) != p.held || PyArray_DIM(f[3], 2) != p.size)
        return NULL;
    if (PyArray_DIM(n[1], 0) != p.tokens || PyArray_DIM(n[2], 0) != p.tokens) return NULL;
    p.query = PyArray_DATA(f[2]), p.keys = PyArray_DATA(f[0]), p.values = PyArray_DATA(f[1]);
    p.tables = PyArray_DATA(n[0]), p.owners = PyArray_DATA(n[1]), p.places = PyArray_DATA(n[2]);
    int64_t sum;
    if (!pages_fit(&p, PyArray_DIM(n[0], 0), PyArray_DIM(f[0], 0), &sum)) return NULL;
    int failed = 0;
    PyArrayObject *out = fresh(NPY_FLOAT32, 3, PyArray_DIMS(f[2]));
    if (!out) return NULL;
    p.out = PyArray_DATA(out), p.failed = &failed;
    int64_t row = p.held * p.size;
    for (int64_t i = 0; i < p.tokens; i++) {
        int64_t at = of_block(&p, p.tables + p.owners[i] * p.blocks, p.places[i] / block) + p.places[i] % block * row;
        memcpy((float *)p.keys + at, (const float *)PyArray_DATA(f[3]) + i * row, (size_t)row * sizeof(float));
        memcpy((float *)p.values + at, (const float *)PyArray_DATA(f[4]) + i * row, (size_t)row * sizeof(float));
    }
    work_through(call, paged_heads, &p, p.tokens * p.heads, p.heads, 4 * sum * p.heads * p.size / ATTENTION_FLOPS);
    if (failed) {
        Py_DECREF((PyObject *)out);
        return PyErr_NoMemory();
    }
    return (PyObject *)out;
}
