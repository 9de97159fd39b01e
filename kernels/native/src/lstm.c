/* An LSTM through all its steps, and back. Each thread takes some rows of the batch through all of them, so no thread waits for another in between.
 *
 * The weights are copied once a call, into panels as `product.c` reads them: four times the recurrent weights are read in each step. A
 * row's results do not depend on the other rows, nor on threads. Tangents are numpy's; sigmoids are not, whose passes over memory cost
 * more than their exponentials.
 */

enum { GATES = 4 };

typedef struct {
    int64_t steps, batch, inputs, units;
    const float *x, *c_before, *h_before;
    float *offset, *packed;
    float clip;
    float *gates[GATES], *c, *c_tanh, *h; /* the gates are input, candidate, forget, output, as in the weights */
} Recurrence;

static int64_t panels_of(int64_t columns) { return (columns + PANEL - 1) / PANEL; }

/* All panels of `columns` columns of `p->b`, one behind the other. */
static void pack_all(const Product *p, int64_t columns, float *packed) {
    for (int64_t column = 0; column < columns; column += PANEL, packed += p->k * PANEL)
        pack(p, column, columns - column < PANEL ? columns - column : PANEL, packed);
}

/* A product with packed panels, each of `step` numbers. */
static __attribute__((noinline)) void with_packed(const Product *p, const float *packed, int64_t step) {
    for (int64_t column = 0; column < p->n; column += PANEL, packed += step)
        if (column + LANE < p->n)
            tiles(p, packed, PANEL, 0, p->m, column, PRODUCT_WIDE);
        else
            tiles(p, packed, PANEL, 0, p->m, column, 1);
}

static void sigmoids(float *x, int64_t count) {
    _Pragma("GCC ivdep") for (int64_t i = 0; i < count; i++) x[i] = logistic(x[i]);
}

static void lstm_rows(int64_t begin, int64_t count, const void *given) {
    const Recurrence *r = given;
    int64_t units = r->units, inputs = r->inputs, size = count * units, panel = (inputs + units) * PANEL;
    for (int64_t t = 0; t < r->steps; t++) {
        int64_t first = t * r->batch + begin, at = first * units;
        const float *h = t ? r->h + at - r->batch * units : r->h_before + begin * units;
        const float *before = t ? r->c + at - r->batch * units : r->c_before + begin * units;
        for (int gate = 0; gate < GATES; gate++) {
            const float *packed = r->packed + gate * panels_of(units) * panel;
            float *y = r->gates[gate] + at;
            Product p = {.a = r->x + first * inputs, .c = y, .m = count, .n = units, .k = inputs, .a_row = inputs, .a_inner = 1,
                         .c_row = units, .plus = r->offset + gate * units};
            with_packed(&p, packed, panel);
            p.a = h, p.k = p.a_row = p.plus_row = units, p.plus = y;
            with_packed(&p, packed + inputs * PANEL, panel);
            if (gate == 1)
                numpy_call(&numpy_loops[NUMPY_TANH][0], y, y, size, sizeof(float));
            else
                sigmoids(y, size);
        }
        const float *i = r->gates[0] + at, *candidate = r->gates[1] + at, *f = r->gates[2] + at, *o = r->gates[3] + at;
        float *c = r->c + at, *c_tanh = r->c_tanh + at, *out = r->h + at, most = r->clip;
        _Pragma("GCC ivdep") for (int64_t k = 0; k < size; k++) c[k] = candidate[k] * i[k] + before[k] * f[k];
        if (most > 0) {
            _Pragma("GCC ivdep") for (int64_t k = 0; k < size; k++) c[k] = c[k] > most ? most : c[k] < -most ? -most : c[k];
        }
        numpy_call(&numpy_loops[NUMPY_TANH][0], c, c_tanh, size, sizeof(float));
        _Pragma("GCC ivdep") for (int64_t k = 0; k < size; k++) out[k] = o[k] * c_tanh[k];
    }
}

/* An array of float32 with such a shape; a size of -1 is any. */
static float *shaped_at(const Call *call, Py_ssize_t index, int rank, const int64_t *sizes) {
    PyArrayObject *array = typed_at(call, index, NPY_FLOAT32);
    if (!array || PyArray_NDIM(array) != rank) return NULL;
    for (int i = 0; i < rank; i++)
        if (PyArray_DIM(array, i) != sizes[i]) return NULL;
    return PyArray_DATA(array);
}

static bool all_shaped(const Call *call, Py_ssize_t index, int count, int rank, const int64_t *sizes, float **into) {
    for (int i = 0; i < count; i++)
        if (!(into[i] = shaped_at(call, index + i, rank, sizes))) return false;
    return true;
}

static int64_t rows_of_thread(const Call *call, int64_t batch) {
    return call->threads > 1 ? (batch + call->threads - 1) / call->threads : batch;
}

/* lstm(x, c before, h before, w, b, forget bias, clip, i, c, f, o, candidate, tanh c, h): fills the seven last. Gives True. */
static PyObject *k_lstm(const Call *call) {
    PyArrayObject *x = typed_at(call, 0, NPY_FLOAT32), *w = typed_at(call, 3, NPY_FLOAT32);
    float forget_bias, *states[2], *made[7], clip;
    if (call->count != 14 || !x || PyArray_NDIM(x) != 3 || !w || PyArray_NDIM(w) != 2) return NULL;
    int64_t units = PyArray_DIM(w, 1) / GATES, steps = PyArray_DIM(x, 0), batch = PyArray_DIM(x, 1), inputs = PyArray_DIM(x, 2);
    int64_t sizes[3] = {steps, batch, units}, wide = GATES * units;
    const float *b = shaped_at(call, 4, 1, &wide);
    if (!b || PyArray_DIM(w, 1) != wide || PyArray_DIM(w, 0) != inputs + units || !units || !inputs) return NULL;
    if (!all_shaped(call, 1, 2, 2, sizes + 1, states) || !all_shaped(call, 7, 7, 3, sizes, made)) return NULL;
    if (!float_at(call, 5, &forget_bias) || !float_at(call, 6, &clip)) return NULL;
    int64_t work = steps * batch * wide * (inputs + units) / PRODUCTS_OF_ONE;
    if (left_to_python(call, work)) return NULL;
    Recurrence r = {steps, batch, inputs, units, PyArray_DATA(x), states[0], states[1], .clip = clip,
                    .gates = {made[0], made[4], made[2], made[3]}, .c = made[1], .c_tanh = made[5], .h = made[6]};
    int64_t panels = panels_of(units) * (inputs + units) * PANEL;
    r.packed = PyMem_Malloc((size_t)(GATES * panels + wide) * sizeof(float));
    if (!r.packed) return PyErr_NoMemory();
    r.offset = r.packed + GATES * panels;
    for (int64_t i = 0; i < wide; i++) r.offset[i] = b[i] + (i / units == 2 ? forget_bias : 0);
    for (int gate = 0; gate < GATES; gate++) {
        Product p = {.b = (const float *)PyArray_DATA(w) + gate * units, .n = wide, .k = inputs + units};
        pack_all(&p, units, r.packed + gate * panels);
    }
    work_through(call, lstm_rows, &r, batch, rows_of_thread(call, batch), work);
    PyMem_Free(r.packed);
    Py_RETURN_TRUE;
}

typedef struct {
    int64_t steps, batch, units;
    const float *c_before, *i, *c, *f, *o, *candidate, *c_tanh, *dc, *dh;
    float *packed, *slopes, *to_c, *to_h;
} Backward;

static void lstm_rows_back(int64_t begin, int64_t count, const void *given) {
    const Backward *r = given;
    int64_t units = r->units, wide = GATES * units;
    memset(r->to_c + begin * units, 0, (size_t)(count * units) * sizeof(float));
    memset(r->to_h + begin * units, 0, (size_t)(count * units) * sizeof(float));
    for (int64_t t = r->steps - 1; t >= 0; t--) {
        for (int64_t row = begin; row < begin + count; row++) {
            int64_t at = (t * r->batch + row) * units;
            const float *before = t ? r->c + at - r->batch * units : r->c_before + row * units;
            const float *i = r->i + at, *f = r->f + at, *o = r->o + at, *candidate = r->candidate + at, *c_tanh = r->c_tanh + at;
            const float *dc = r->dc + at, *dh = r->dh + at;
            float *to_c = r->to_c + row * units, *to_h = r->to_h + row * units, *slopes = r->slopes + GATES * at;
            _Pragma("GCC ivdep") for (int64_t k = 0; k < units; k++) {
                float h = dh[k] + to_h[k], y = c_tanh[k], c = (1 - y * y) * h * o[k] + (dc[k] + to_c[k]);
                slopes[k] = i[k] * (1 - i[k]) * c * candidate[k];
                slopes[units + k] = (1 - candidate[k] * candidate[k]) * c * i[k];
                slopes[2 * units + k] = f[k] * (1 - f[k]) * c * before[k];
                slopes[3 * units + k] = o[k] * (1 - o[k]) * h * y;
                to_c[k] = c * f[k];
            }
        }
        Product p = {.a = r->slopes + (t * r->batch + begin) * wide, .c = r->to_h + begin * units, .m = count, .n = units, .k = wide,
                     .a_row = wide, .a_inner = 1, .c_row = units};
        with_packed(&p, r->packed, wide * PANEL);
    }
}

/* lstm_grad(c before, w, i, c, f, o, candidate, tanh c, dc, dh, slopes, to c, to h): fills the three last: the gradients of the four gates
 * before their activations, `[steps, batch, 4 units]`, and those of the states before. `w` has those of h in its last rows. Gives True. */
static PyObject *k_lstm_grad(const Call *call) {
    PyArrayObject *w = typed_at(call, 1, NPY_FLOAT32), *i = typed_at(call, 2, NPY_FLOAT32);
    float *known[8], *states[2];
    if (call->count != 13 || !w || PyArray_NDIM(w) != 2 || !i || PyArray_NDIM(i) != 3) return NULL;
    int64_t steps = PyArray_DIM(i, 0), batch = PyArray_DIM(i, 1), units = PyArray_DIM(i, 2), wide = GATES * units;
    int64_t sizes[3] = {steps, batch, units}, slopes[3] = {steps, batch, wide}, inputs = PyArray_DIM(w, 0) - units;
    const float *before = shaped_at(call, 0, 2, sizes + 1);
    if (!before || PyArray_DIM(w, 1) != wide || inputs < 0 || !units) return NULL;
    if (!all_shaped(call, 2, 8, 3, sizes, known) || !all_shaped(call, 11, 2, 2, sizes + 1, states)) return NULL;
    int64_t work = steps * batch * wide * units / PRODUCTS_OF_ONE;
    if (left_to_python(call, work)) return NULL;
    Backward r = {steps, batch, units, before, known[0], known[1], known[2], known[3], known[4], known[5], known[6], known[7],
                  .slopes = shaped_at(call, 10, 3, slopes), .to_c = states[0], .to_h = states[1]};
    if (!r.slopes) return NULL;
    r.packed = PyMem_Malloc((size_t)(panels_of(units) * wide * PANEL) * sizeof(float));
    if (!r.packed) return PyErr_NoMemory();
    Product p = {.b = (const float *)PyArray_DATA(w) + inputs * wide, .n = units, .k = wide, .turned = true};
    pack_all(&p, units, r.packed);
    work_through(call, lstm_rows_back, &r, batch, rows_of_thread(call, batch), work);
    PyMem_Free(r.packed);
    Py_RETURN_TRUE;
}
