/* Copies of transposed matrices of 32-bit numbers in C's order, block by block, for kernels that read them in order.
 *
 * numpy walks along the rows of one of the two, and takes each line of the other's from the cache once for each element.
 */

enum { TRANSPOSED_LEAST = 1 << 12, SIDE = 16, STRIP = 64 };

typedef struct {
    int64_t rows, columns; /* of the result */
    const uint32_t *x;
    uint32_t *out;
} Transposed;

static void transposed_strips(int64_t begin, int64_t count, const void *given) {
    const Transposed *t = given;
    for (int64_t strip = begin; strip < begin + count; strip++) {
        int64_t first = strip * STRIP, end = first + STRIP < t->rows ? first + STRIP : t->rows;
        for (int64_t column = 0; column < t->columns; column += SIDE) {
            int64_t wide = t->columns - column < SIDE ? t->columns - column : SIDE;
            for (int64_t row = first; row < end; row += SIDE) {
                int64_t high = end - row < SIDE ? end - row : SIDE;
                uint32_t block[SIDE][SIDE];
                if (wide == SIDE && high == SIDE) {
                    for (int i = 0; i < SIDE; i++) memcpy(block[i], t->x + (column + i) * t->rows + row, sizeof(block[i]));
                    for (int j = 0; j < SIDE; j++) {
                        uint32_t line[SIDE];
                        for (int i = 0; i < SIDE; i++) line[i] = block[i][j];
                        memcpy(t->out + (row + j) * t->columns + column, line, sizeof(line));
                    }
                } else
                    for (int64_t j = 0; j < high; j++)
                        for (int64_t i = 0; i < wide; i++)
                            t->out[(row + j) * t->columns + column + i] = t->x[(column + i) * t->rows + row + j];
            }
        }
    }
}

/* Fills `out`, in C's order, with `x` of the same shape, in Fortran's. */
static inline void copy_transposed(const Call *call, PyArrayObject *x, PyArrayObject *out) {
    Transposed t = {PyArray_DIM(out, 0), PyArray_DIM(out, 1), PyArray_DATA(x), PyArray_DATA(out)};
    work_through(call, transposed_strips, &t, (t.rows + STRIP - 1) / STRIP, 1, t.rows * t.columns);
}

/* transposed(x, out): `out`, or nothing done where the arrays are others. */
static PyObject *k_transposed(const Call *call) {
    if (call->count != 2 || Py_TYPE(call->args[0]) != &PyArray_Type) return NULL;
    PyArrayObject *x = (PyArrayObject *)call->args[0], *out = array_at(call, 1);
    if (!out || PyArray_NDIM(x) != 2 || PyArray_NDIM(out) != 2 || PyArray_TYPE(x) != PyArray_TYPE(out)) return NULL;
    if (PyArray_ITEMSIZE(x) != 4 || !PyArray_ISNUMBER(x) || !PyArray_ISNOTSWAPPED(x) || !PyArray_ISALIGNED(x)) return NULL;
    if (!PyArray_IS_F_CONTIGUOUS(x) || !same_shape(x, out) || share_memory(x, out) || !PyArray_ISWRITEABLE(out)) return NULL;
    if (left_to_governor(call, PyArray_SIZE(x))) return NULL;
    copy_transposed(call, x, out);
    Py_INCREF((PyObject *)out);
    return (PyObject *)out;
}
