/* Optimizers' updates: a formula as a list of steps, done block by block, so that what a step leaves stays in the cache for the next.
 *
 * The steps and their order are those of numpy's calls, so the results are the same bits.
 */

enum { UPDATE_BLOCK = 256, MOST_ARRAYS = 8, MOST_NUMBERS = 16, MOST_TEMPORARIES = 8, UPDATE_PIECE = 1 << 14 };
enum { STEP_ADD, STEP_SUB, STEP_MUL, STEP_DIV, STEP_MAX, STEP_COPYSIGN, STEP_NEG, STEP_ABS, STEP_SIGN, STEP_SQRT, STEP_COPY, STEPS };

/* Places are the arrays, the numbers and the temporaries, in this order. A step is (kind, first place, second place, result). */
typedef struct {
    const int32_t (*steps)[4];
    int64_t count;
    int arrays, numbers, temporaries;
    char *array[MOST_ARRAYS];
    double number[MOST_NUMBERS];
} Formula;

#define STEP(kind, expression)                                                                                                     \
    case kind:                                                                                                                     \
        LOOP(expression)                                                                                                           \
        break;

#define UPDATE(name, T, root, magnitude, signed_as)                                                                                \
    static void name(int64_t begin, int64_t count, const void *given) {                                                            \
        const Formula *f = given;                                                                                                  \
        T own[MOST_NUMBERS + MOST_TEMPORARIES][UPDATE_BLOCK], *at[MOST_ARRAYS + MOST_NUMBERS + MOST_TEMPORARIES];                  \
        int64_t most = count < UPDATE_BLOCK ? count : UPDATE_BLOCK;                                                                \
        for (int k = 0; k < f->numbers; k++)                                                                                       \
            for (int64_t i = 0; i < most; i++) own[k][i] = (T)f->number[k];                                                        \
        for (int k = 0; k < f->numbers + f->temporaries; k++) at[f->arrays + k] = own[k];                                          \
        for (int64_t done = begin; done < begin + count; done += UPDATE_BLOCK) {                                                   \
            const int64_t from = 0, to = begin + count - done < UPDATE_BLOCK ? begin + count - done : UPDATE_BLOCK;                \
            for (int k = 0; k < f->arrays; k++) at[k] = (T *)f->array[k] + done;                                                   \
            for (int64_t s = 0; s < f->count; s++) {                                                                               \
                const T *x = at[f->steps[s][1]], *y = at[f->steps[s][2]];                                                          \
                T *out = at[f->steps[s][3]];                                                                                       \
                switch (f->steps[s][0]) {                                                                                          \
                    STEP(STEP_ADD, out[i] = x[i] + y[i])                                                                           \
                    STEP(STEP_SUB, out[i] = x[i] - y[i])                                                                           \
                    STEP(STEP_MUL, out[i] = x[i] * y[i])                                                                           \
                    STEP(STEP_DIV, out[i] = x[i] / y[i])                                                                           \
                    STEP(STEP_MAX, out[i] = x[i] > y[i] || x[i] != x[i] ? x[i] : y[i])                                             \
                    STEP(STEP_COPYSIGN, out[i] = signed_as(x[i], y[i]))                                                            \
                    STEP(STEP_NEG, out[i] = -x[i])                                                                                 \
                    STEP(STEP_ABS, out[i] = magnitude(x[i]))                                                                       \
                    STEP(STEP_SIGN, out[i] = x[i] > 0 ? 1 : x[i] < 0 ? -1 : x[i] == 0 ? 0 : x[i])                                  \
                    STEP(STEP_SQRT, out[i] = root(x[i]))                                                                           \
                    STEP(STEP_COPY, out[i] = x[i])                                                                                 \
                }                                                                                                                  \
            }                                                                                                                      \
        }                                                                                                                          \
    }

UPDATE(update_f4, float, sqrtf, fabsf, copysignf)
UPDATE(update_f8, double, sqrt, fabs, copysign)

static bool formula_of(PyArrayObject *steps, Formula *f) {
    if (PyArray_NDIM(steps) != 2 || PyArray_DIM(steps, 1) != 4) return false;
    f->steps = PyArray_DATA(steps);
    f->count = PyArray_DIM(steps, 0);
    int places = f->arrays + f->numbers + f->temporaries;
    for (int64_t s = 0; s < f->count; s++) {
        const int32_t *step = f->steps[s];
        bool known = step[0] >= 0 && step[0] < STEPS && step[1] >= 0 && step[1] < places && step[2] >= 0 && step[2] < places;
        bool written = step[3] >= f->arrays + f->numbers || (step[3] >= 0 && step[3] < f->arrays);
        if (!known || !written || step[3] >= places) return false;
    }
    return true;
}

/* update(steps, written, temporaries, arrays, numbers): changes the first `written` arrays in place. Gives True. */
static PyObject *k_update(const Call *call) {
    PyArrayObject *steps = typed_at(call, 0, NPY_INT32), *first = NULL;
    int64_t written, temporaries;
    if (!steps || call->count != 5 || !whole_at(call, 1, &written) || !whole_at(call, 2, &temporaries)) return NULL;
    PyObject *arrays = call->args[3], *numbers = call->args[4];
    if (!PyList_CheckExact(arrays) || !PyList_CheckExact(numbers)) return NULL;
    Formula f = {.arrays = (int)PyList_Size(arrays), .numbers = (int)PyList_Size(numbers), .temporaries = (int)temporaries};
    if (f.arrays < 1 || f.arrays > MOST_ARRAYS || f.numbers > MOST_NUMBERS || temporaries < 0 || temporaries > MOST_TEMPORARIES) return NULL;
    if (!formula_of(steps, &f)) return NULL;
    for (int k = 0; k < f.arrays; k++) {
        PyArrayObject *one = as_array(PyList_GetItem(arrays, k));
        if (!one || (k < written && !PyArray_ISWRITEABLE(one))) return NULL;
        if (first && (PyArray_TYPE(one) != PyArray_TYPE(first) || !same_shape(one, first))) return NULL;
        if (!first) first = one;
        f.array[k] = PyArray_DATA(one);
        for (int other = 0; other < k && other < written; other++)
            if (share_memory(one, (PyArrayObject *)PyList_GetItem(arrays, other))) return NULL;
    }
    int64_t size = PyArray_SIZE(first);
    int type = PyArray_TYPE(first);
    Part part = type == NPY_FLOAT32 ? update_f4 : type == NPY_FLOAT64 ? update_f8 : NULL;
    if (!part || left_to_python(call, size)) return NULL;
    for (int k = 0; k < f.numbers; k++) {
        f.number[k] = PyFloat_AsDouble(PyList_GetItem(numbers, k));
        if (f.number[k] == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
    }
    work_through(call, part, &f, size, UPDATE_PIECE, size * f.count);
    Py_RETURN_TRUE;
}
