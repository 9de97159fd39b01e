/* Primitives of oneDNN, in their order, on the arrays of a call. To bind and to run one from Python by a foreign-function interface
 * costs several microseconds, as much as small ones take themselves. */

typedef struct {
    int64_t execute, set_handle, threads_now, set_threads; /* addresses of C functions; the last two are 0 where threads are nobody's */
    int64_t threads;                                       /* for which the primitives were made */
    int64_t after;                                         /* the function that each element of the last array goes through in the end */
    int64_t width, step;                                   /* the elements of a row of that array, and from one row to the next */
    int64_t arrays, steps;
    int64_t rest[]; /* For each array its memory (0 for none) and how many elements it has. Then for each step four numbers: a primitive,
                     * its stream, how many arguments it has, and their address; or, for a product of our own, 0, the address of its
                     * `Panels`, and two zeros. */
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

static int run_steps(const Recipe *recipe, const int64_t *steps, float *const *arrays) {
    int own = recipe->set_threads ? ((int (*)(void))(intptr_t)recipe->threads_now)() : 0, status = 0;
    bool changes = recipe->set_threads && own != recipe->threads;
    void (*set_threads)(int) = (void (*)(int))(intptr_t)recipe->set_threads;
    if (changes) set_threads((int)recipe->threads);
    for (int64_t i = 0; i < recipe->steps && !status; i++, steps += 4)
        if (steps[0])
            status = ((Execute)(intptr_t)recipe->execute)((void *)(intptr_t)steps[0], (void *)(intptr_t)steps[1], (int)steps[2],
                                                          (void *)(intptr_t)steps[3]);
        else
            multiply_panels((const Panels *)(intptr_t)steps[1], arrays, recipe->arrays);
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
        if (!recipe->rest[2 * i]) continue;
        int status = ((SetHandle)(intptr_t)recipe->set_handle)((void *)(intptr_t)recipe->rest[2 * i], bound->arrays[i]);
        if (status) return status;
    }
    int status = run_steps(recipe, recipe->rest + 2 * recipe->arrays, bound->arrays);
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

/* Binds recipes, whose arrays follow from `index` on. `offsets` are the places in the arrays at which each begins, in elements; NULL
 * where there is one recipe, of all of them. False where the arrays are others. */
static bool bind_all(Bound_Recipe *bound, const Call *call, Py_ssize_t index, PyObject *recipes, const int64_t *offsets) {
    Py_ssize_t arrays = call->count - index;
    for (Py_ssize_t i = 0; i < PyTuple_Size(recipes); i++) {
        const int64_t *own = offsets ? offsets + i * arrays : NULL;
        if (!(bound[i].recipe = recipe_of(call, PyTuple_GetItem(recipes, i), index, own))) return false;
        for (Py_ssize_t k = 0; k < arrays; k++)
            bound[i].arrays[k] = (float *)PyArray_DATA((PyArrayObject *)call->args[k + index]) + (own ? own[k] : 0);
    }
    return true;
}

/* Runs recipes on so many threads. The library's status. */
static int run_all(const Bound_Recipe *bound, int64_t count, int threads) {
    int status = 0;
    Parts parts = {bound, &status};
    if (threads > 1)
        pool_run(run_parts, &parts, count, 1, threads);
    else
        run_parts(0, count, &parts);
    return status;
}

/* Runs what is bound without the interpreter. The library's status. */
static int run_free(const Bound_Recipe *bound, int64_t count, int threads) {
    PyThreadState *state = PyEval_SaveThread();
    int status = run_all(bound, count, threads);
    PyEval_RestoreThread(state);
    return status;
}

/* The recipes and offsets of parts that fit to each other and to so many arrays. */
static bool are_parts(PyObject *recipes, PyObject *offsets, Py_ssize_t arrays) {
    if (!PyTuple_CheckExact(recipes) || !PyBytes_CheckExact(offsets) || PyTuple_Size(recipes) > MOST_PARTS) return false;
    return PyBytes_Size(offsets) == PyTuple_Size(recipes) * arrays * (Py_ssize_t)sizeof(int64_t);
}

/* parts(recipes, offsets, *arrays): the same for several recipes, which the threads of the pool take in turns. `offsets` are the
 * places in the arrays at which each begins, in elements. */
static PyObject *k_parts(const Call *call) {
    if (call->count < 3 || call->count > MOST_BOUND + 2 || !are_parts(call->args[0], call->args[1], call->count - 2)) return NULL;
    Bound_Recipe bound[MOST_PARTS];
    if (!bind_all(bound, call, 2, call->args[0], (const int64_t *)PyBytes_AsString(call->args[1]))) return NULL;
    return PyLong_FromLong(run_free(bound, PyTuple_Size(call->args[0]), call->threads));
}

/* ---- work that is known beforehand */

/* How many threads take some work: the decision in the memory of a `ThreadCount`, 0 before it; one thread for None. */
static int decided_threads(PyObject *memory) {
    if (memory == Py_None) return 1;
    if (!PyByteArray_CheckExact(memory) || PyByteArray_Size(memory) != sizeof(int64_t)) return 0;
    return (int)*(const int64_t *)PyByteArray_AsString(memory);
}

/* Whether an array has the sizes that these bytes say. */
static bool has_sizes(PyArrayObject *array, PyObject *bytes) {
    if (!array || !PyBytes_CheckExact(bytes) || PyBytes_Size(bytes) != PyArray_NDIM(array) * (Py_ssize_t)sizeof(npy_intp)) return false;
    return !memcmp(PyArray_DIMS(array), PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
}

/* prepared(work, out or None, array, *added): does some work on an array, and on others of the result's sizes, and gives the result. The
 * work is a tuple:
 *
 *     sizes of the first array, sizes of the result,
 *     whole: a list of tuples of one recipe that does it all; empty where parts do it one after the other,
 *     parts: a list of tuples of the recipes of parts, and their offsets (see `parts`),
 *     threads: the memory of a `ThreadCount`, or None where there are no parts.
 *
 * A call takes a tuple out of its list, so that no other has it meanwhile. Work that fails, or whose threads are not decided, is left to
 * the caller, who does it again. */
static PyObject *k_prepared(const Call *call) {
    enum { SIZES, MADE, WHOLE, PARTS, OFFSETS, THREADS, FIELDS };
    PyObject *work = call->count > 2 ? call->args[0] : NULL;
    if (!work || call->count > MOST_BOUND + 1 || !PyTuple_CheckExact(work) || PyTuple_Size(work) != FIELDS) return NULL;
    PyObject *made = PyTuple_GetItem(work, MADE), *given[MOST_BOUND + 2];
    if (!PyBytes_CheckExact(made) || !has_sizes(typed_at(call, 2, NPY_FLOAT32), PyTuple_GetItem(work, SIZES))) return NULL;
    for (Py_ssize_t i = 3; i < call->count; i++)
        if (!has_sizes(typed_at(call, i, NPY_FLOAT32), made)) return NULL;
    int threads = decided_threads(PyTuple_GetItem(work, THREADS));
    if (threads < 1) return NULL;
    PyObject *list = PyTuple_GetItem(work, WHOLE);
    bool divided = threads > 1 || (PyList_CheckExact(list) && !PyList_Size(list));
    if (divided) list = PyTuple_GetItem(work, PARTS);
    PyObject *recipes = PyList_CheckExact(list) ? take_last(list) : NULL, *offsets = PyTuple_GetItem(work, OFFSETS);
    if (!recipes) return NULL;
    bool done = divided ? are_parts(recipes, offsets, call->count - 1) : PyTuple_CheckExact(recipes) && PyTuple_Size(recipes) == 1;
    PyArrayObject *out = NULL;
    if (done) out = result_at(call, 1, NPY_FLOAT32, (int)(PyBytes_Size(made) / (Py_ssize_t)sizeof(npy_intp)), (const npy_intp *)PyBytes_AsString(made));
    if (out) {
        for (Py_ssize_t i = 2; i < call->count; i++) given[i - 2] = call->args[i];
        given[call->count - 2] = (PyObject *)out;
        Call bound_call = {given, call->count - 1, 0};
        Bound_Recipe bound[MOST_PARTS];
        done = bind_all(bound, &bound_call, 0, recipes, divided ? (const int64_t *)PyBytes_AsString(offsets) : NULL);
        if (done) done = !run_free(bound, PyTuple_Size(recipes), threads);
    }
    if (PyList_Append(list, recipes)) done = false;
    Py_DECREF(recipes);
    if (done && out) return (PyObject *)out;
    Py_XDECREF((PyObject *)out);
    return NULL;
}
