/* Products of matrices by a library's `sgemm`, some rows or columns at a time: each thread calls it with one thread of its own. */

typedef int (*Sgemm)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float, float *,
                     int64_t);

typedef struct {
    Sgemm sgemm;
    void (*set_threads)(int);
    char kinds[2];
    int64_t m, n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    bool by_rows;
    int *status;
} Matmul;

static void some_of_matmul(int64_t begin, int64_t count, const void *given) {
    const Matmul *p = given;
    int64_t a_step = p->kinds[0] == 'T' ? p->m : p->k, b_step = p->kinds[1] == 'T' ? p->k : p->n;
    const float *a = p->a, *b = p->b;
    float *c = p->c;
    int64_t rows = p->m, columns = p->n;
    if (p->by_rows) {
        a += begin * (p->kinds[0] == 'T' ? 1 : p->k);
        c += begin * p->n;
        rows = count;
    } else {
        b += begin * (p->kinds[1] == 'T' ? p->k : 1);
        c += begin;
        columns = count;
    }
    p->set_threads(1);
    int status = p->sgemm(p->kinds[0], p->kinds[1], rows, columns, p->k, p->alpha, a, a_step, b, b_step, p->beta, c, p->n);
    if (status) __atomic_store_n(p->status, status, __ATOMIC_RELAXED);
}

/* matmul(sgemm, set_threads, a turned, b turned, m, n, k, by rows, piece, alpha, beta, a, b, c): the addresses of two C functions,
 * and c = alpha · a b + beta · c. Gives the library's status. */
static PyObject *k_matmul(const Call *call) {
    int64_t n[9];
    if (call->count != 14 || !numbers_at(call, 0, 9, n)) return NULL;
    if (!PyFloat_Check(call->args[9]) || !PyFloat_Check(call->args[10])) return NULL;
    PyArrayObject *a = typed_at(call, 11, NPY_FLOAT32), *b = typed_at(call, 12, NPY_FLOAT32), *c = typed_at(call, 13, NPY_FLOAT32);
    if (!a || !b || !c || PyArray_SIZE(a) != n[4] * n[6] || PyArray_SIZE(b) != n[6] * n[5] || PyArray_SIZE(c) != n[4] * n[5]) return NULL;
    if (!PyArray_ISWRITEABLE(c)) return NULL;
    int status = 0;
    Matmul p = {(Sgemm)(intptr_t)n[0], (void (*)(int))(intptr_t)n[1], {n[2] ? 'T' : 'N', n[3] ? 'T' : 'N'}, n[4], n[5], n[6],
                (float)PyFloat_AsDouble(call->args[9]), (float)PyFloat_AsDouble(call->args[10]), PyArray_DATA(a), PyArray_DATA(b),
                PyArray_DATA(c), n[7] != 0, &status};
    work_through(call, some_of_matmul, &p, p.by_rows ? p.m : p.n, n[8], p.m * p.n * p.k);
    return PyLong_FromLong(status);
}
