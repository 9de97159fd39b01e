/* Primitives of oneDNN, in their order, on the arrays of a call. To bind and to run one from Python by a foreign-function interface
 * costs several microseconds, as much as small ones take themselves. */

typedef struct {
    int64_t execute, set_handle, threads_now, set_threads; /* addresses of C functions; the last two are 0 where threads are nobody's */
    int64_t threads;                                       /* for which the primitives were made */
    int64_t after;                                         /* what becomes of each element of the last array in the end: */
    int64_t width, step;                                   /* of so many, with so many from one row to the next */
    int64_t arrays, steps;
    int64_t rest[]; /* for each array its memory and how many elements it has; then for each step four numbers */
} Recipe;

enum { NOTHING_AFTER, RELU_AFTER, RELU6_AFTER, GELU_AFTER };

/* Functions that the library computes in another way: it loses NaN, and an infinite number becomes NaN. */
static void after_steps(int64_t kind, float *y, int64_t count) {
    if (kind == RELU_AFTER)
        for (int64_t i = 0; i < count; i++) y[i] = y[i] > 0 || y[i] != y[i] ? y[i] : 0;
    else if (kind == RELU6_AFTER)
        for (int64_t i = 0; i < count; i++) {
            float low = y[i] > 0 || y[i] != y[i] ? y[i] : 0;
            y[i] = low > 6 ? 6 : low;
        }
    else if (kind == GELU_AFTER)
        for (int64_t i = 0; i < count; i++) y[i] = 0.5f * y[i] * (1.0f + error_function(y[i] * 0.70710678118654752f));
}

typedef int (*Execute)(void *, void *, int, void *);
typedef int (*SetHandle)(void *, void *);

static int run_steps(const Recipe *recipe, const int64_t *steps) {
    int own = recipe->set_threads ? ((int (*)(void))(intptr_t)recipe->threads_now)() : 0, status = 0;
    bool changes = recipe->set_threads && own != recipe->threads;
    void (*set_threads)(int) = (void (*)(int))(intptr_t)recipe->set_threads;
    if (changes) set_threads((int)recipe->threads);
    for (int64_t i = 0; i < recipe->steps && !status; i++, steps += 4)
        status = ((Execute)(intptr_t)recipe->execute)((void *)(intptr_t)steps[0], (void *)(intptr_t)steps[1], (int)steps[2],
                                                      (void *)(intptr_t)steps[3]);
    if (changes) set_threads(own);
    return status;
}

/* Reads a recipe, whose arrays follow from `index` on. NULL where the arrays are others. */
static const Recipe *recipe_of(const Call *call, PyObject *bytes, Py_ssize_t index, const int64_t *offsets) {
    if (!PyBytes_CheckExact(bytes) || (size_t)PyBytes_Size(bytes) < sizeof(Recipe)) return NULL;
    const Recipe *recipe = (const Recipe *)PyBytes_AsString(bytes);
    size_t numbers = (size_t)(2 * recipe->arrays + 4 * recipe->steps);
    if (recipe->arrays != call->count - index || (size_t)PyBytes_Size(bytes) != sizeof(Recipe) + sizeof(int64_t) * numbers) return NULL;
    for (int64_t i = 0; i < recipe->arrays; i++) {
        PyArrayObject *array = typed_at(call, index + i, NPY_FLOAT32);
        int64_t size = recipe->rest[2 * i + 1];
        if (!array || (offsets ? PyArray_SIZE(array) < offsets[i] + size : PyArray_SIZE(array) != size)) return NULL;
    }
    return recipe;
}

enum { MOST_BOUND = 8, MOST_PARTS = 256 };

typedef struct {
    const Recipe *recipe;
    float *arrays[MOST_BOUND];
} Bound_Recipe;

/* Binds the arrays, and runs the steps. */
static int run_bound(const Bound_Recipe *bound) {
    const Recipe *recipe = bound->recipe;
    for (int64_t i = 0; i < recipe->arrays; i++) {
        int status = ((SetHandle)(intptr_t)recipe->set_handle)((void *)(intptr_t)recipe->rest[2 * i], bound->arrays[i]);
        if (status) return status;
    }
    int status = run_steps(recipe, recipe->rest + 2 * recipe->arrays);
    if (status || !recipe->after || !recipe->arrays) return status;
    float *y = bound->arrays[recipe->arrays - 1];
    int64_t size = recipe->rest[2 * recipe->arrays - 1];
    for (int64_t row = 0; row < size; row += recipe->step) after_steps(recipe->after, y + row, recipe->width);
    return 0;
}

/* primitives(recipe, *arrays): binds the arrays to the memories of a recipe, and runs its steps. Gives the library's status. */
static PyObject *k_primitives(const Call *call) {
    Bound_Recipe bound;
    if (call->count < 1 || call->count > MOST_BOUND + 1 || !(bound.recipe = recipe_of(call, call->args[0], 1, NULL))) return NULL;
    for (int64_t i = 0; i < bound.recipe->arrays; i++) bound.arrays[i] = PyArray_DATA((PyArrayObject *)call->args[i + 1]);
    PyThreadState *state = PyEval_SaveThread();
    int status = run_bound(&bound);
    PyEval_RestoreThread(state);
    return PyLong_FromLong(status);
}

/* Whether an array has the sizes that these bytes say. */
static bool has_sizes(PyArrayObject *array, PyObject *bytes) {
    if (!array || !PyBytes_CheckExact(bytes) || PyBytes_Size(bytes) != PyArray_NDIM(array) * (Py_ssize_t)sizeof(npy_intp)) return false;
    return !memcmp(PyArray_DIMS(array), PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
}

/* prepared(recipes, sizes of the first array, sizes of the result, out or None, *arrays): takes one of the recipes, which no other call
 * has meanwhile, runs it on the arrays, and gives the result. What fails is left to the caller, who does it again. */
static PyObject *k_prepared(const Call *call) {
    Bound_Recipe bound;
    if (call->count < 5 || call->count > MOST_BOUND + 3 || !PyList_CheckExact(call->args[0]) || !PyBytes_CheckExact(call->args[2])) return NULL;
    if (!has_sizes(typed_at(call, 4, NPY_FLOAT32), call->args[1])) return NULL;
    Py_ssize_t free = PyList_Size(call->args[0]), arrays = call->count - 4;
    if (!free) return NULL;
    PyObject *bytes = PyList_GetItem(call->args[0], free - 1);
    if (!PyBytes_CheckExact(bytes) || (size_t)PyBytes_Size(bytes) < sizeof(Recipe)) return NULL;
    const Recipe *recipe = bound.recipe = (const Recipe *)PyBytes_AsString(bytes);
    size_t numbers = (size_t)(2 * recipe->arrays + 4 * recipe->steps);
    if (recipe->arrays != arrays + 1 || (size_t)PyBytes_Size(bytes) != sizeof(Recipe) + sizeof(int64_t) * numbers) return NULL;
    for (Py_ssize_t i = 0; i < arrays; i++) {
        PyArrayObject *array = typed_at(call, i + 4, NPY_FLOAT32);
        if (!array || PyArray_SIZE(array) != recipe->rest[2 * i + 1]) return NULL;
        bound.arrays[i] = PyArray_DATA(array);
    }
    int rank = (int)(PyBytes_Size(call->args[2]) / (Py_ssize_t)sizeof(npy_intp));
    PyArrayObject *out = result_at(call, 3, NPY_FLOAT32, rank, (const npy_intp *)PyBytes_AsString(call->args[2]));
    if (!out) return NULL;
    bound.arrays[arrays] = PyArray_DATA(out);
    Py_INCREF(bytes);
    int status = PyArray_SIZE(out) != recipe->rest[2 * arrays + 1] || PyList_SetSlice(call->args[0], free - 1, free, NULL);
    if (!status) {
        PyThreadState *state = PyEval_SaveThread();
        status = run_bound(&bound);
        PyEval_RestoreThread(state);
        if (PyList_Append(call->args[0], bytes)) status = 1;
    }
    Py_DECREF(bytes);
    if (!status) return (PyObject *)out;
    Py_DECREF((PyObject *)out);
    return NULL;
}

typedef struct {
    const Bound_Recipe *parts;
    int *status;
} Parts;

static void run_parts(int64_t begin, int64_t count, const void *given) {
    const Parts *p = given;
    for (int64_t i = begin; i < begin + count; i++) {
        int status = run_bound(p->parts + i);
        if (status) __atomic_store_n(p->status, status, __ATOMIC_RELAXED);
    }
}

/* parts(recipes, offsets, *arrays): the same for several recipes, which the threads of the pool take in turns. `offsets` are the
 * places in the arrays at which each begins, in elements. */
static PyObject *k_parts(const Call *call) {
    if (call->count < 3 || call->count > MOST_BOUND + 2 || !PyTuple_CheckExact(call->args[0]) || !PyBytes_CheckExact(call->args[1])) return NULL;
    Py_ssize_t parts = PyTuple_Size(call->args[0]), arrays = call->count - 2;
    const int64_t *offsets = (const int64_t *)PyBytes_AsString(call->args[1]);
    Bound_Recipe bound[MOST_PARTS];
    if (parts > MOST_PARTS || PyBytes_Size(call->args[1]) != parts * arrays * (Py_ssize_t)sizeof(int64_t)) return NULL;
    for (Py_ssize_t i = 0; i < parts; i++) {
        if (!(bound[i].recipe = recipe_of(call, PyTuple_GetItem(call->args[0], i), 2, offsets + i * arrays))) return NULL;
        for (Py_ssize_t k = 0; k < arrays; k++)
            bound[i].arrays[k] = (float *)PyArray_DATA((PyArrayObject *)call->args[k + 2]) + offsets[i * arrays + k];
    }
    int status = 0;
    Parts p = {bound, &status};
    PyThreadState *state = PyEval_SaveThread();
    if (call->threads > 1)
        pool_run(run_parts, &p, parts, 1, call->threads);
    else
        run_parts(0, parts, &p);
    PyEval_RestoreThread(state);
    return PyLong_FromLong(status);
}
