/* Series: prepared work of several nodes, one after the other, in one call. Between two nodes of some microseconds, the interpreter, the
 * memory of the result and a job of the pool would take as long as the work does.
 *
 * Threads go through the steps side by side. Each takes parts of a step that no other has begun, its own first, and goes on when all
 * parts of it are done. Nobody waits for a thread to begin: one that comes late begins where the others are, and where none comes
 * the caller takes all parts. Only a part that a thread is in the middle of is waited for, as in the pool.
 */

enum { SERIES_ARRAYS = 64, MOST_OF_STEP = 64 };

/* A step of a call: its parts, which of them have been begun, a bit for each, and how many are done. It has a line of the cache. */
typedef struct {
    _Alignas(64) uint64_t begun;
    int64_t done, count;
    const Bound_Recipe *parts;
} Step;

typedef struct {
    Step *steps;
    int64_t count, reached; /* the steps, and how many of them are known to be done */
    int status;
} Series;

static void run_step(Series *series, Step *step, int64_t thread) {
    for (int64_t k = 0; k < step->count; k++) {
        int64_t i = (thread + k) % step->count;
        uint64_t bit = (uint64_t)1 << i;
        if (__atomic_load_n(&step->begun, __ATOMIC_RELAXED) & bit) continue;
        if (__atomic_fetch_or(&step->begun, bit, __ATOMIC_RELAXED) & bit) continue;
        int status = run_bound(step->parts + i);
        if (status) __atomic_store_n(&series->status, status, __ATOMIC_RELAXED);
        __atomic_fetch_add(&step->done, 1, __ATOMIC_RELEASE);
    }
    pool_await(&step->done, step->count);
}

static void run_series(int64_t begin, int64_t count, const void *given) {
    Series *series = *(Series *const *)given;
    for (int64_t thread = begin; thread < begin + count; thread++)
        for (int64_t i = __atomic_load_n(&series->reached, __ATOMIC_ACQUIRE); i < series->count; i++) {
            if (__atomic_load_n(&series->status, __ATOMIC_RELAXED)) return; /* the caller does all of it again */
            run_step(series, series->steps + i, thread);
            __atomic_store_n(&series->reached, i + 1, __ATOMIC_RELEASE);
        }
}

/* The arrays of a call: their data, and how many elements they have. */
typedef struct {
    float *data[SERIES_ARRAYS];
    const int64_t *sizes;
    int64_t count;
} Arrays;

/* Reads the arrays, of which `sizes` says how many are inputs, and how many elements each has. False where they are others. */
static bool read_arrays(const Call *call, PyObject *sizes, Arrays *arrays) {
    arrays->count = call->count - 1;
    if (!PyBytes_CheckExact(sizes) || PyBytes_Size(sizes) != (Py_ssize_t)sizeof(int64_t) * call->count || arrays->count > SERIES_ARRAYS) return false;
    const int64_t *wanted = (const int64_t *)PyBytes_AsString(sizes);
    arrays->sizes = wanted + 1;
    for (int64_t i = 0; i < arrays->count; i++) {
        PyArrayObject *array = typed_at(call, i + 1, NPY_FLOAT32);
        if (!array || PyArray_SIZE(array) != arrays->sizes[i] || (i >= wanted[0] && !PyArray_ISWRITEABLE(array))) return false;
        arrays->data[i] = PyArray_DATA(array);
    }
    return true;
}

/* Binds a recipe to its arrays: `places` has for each the number of an array of the call and the element at which it begins there, to
 * which a part adds its `offset`. */
static bool bind_part(Bound_Recipe *bound, PyObject *bytes, const int64_t *places, int64_t count, const int64_t *offsets, const Arrays *arrays) {
    if (!PyBytes_CheckExact(bytes) || (size_t)PyBytes_Size(bytes) < sizeof(Recipe)) return false;
    const Recipe *recipe = bound->recipe = (const Recipe *)PyBytes_AsString(bytes);
    if (recipe->arrays != count || count > MOST_BOUND) return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = places[2 * i], begin = places[2 * i + 1] + (offsets ? offsets[i] : 0);
        if (from < 0 || from >= arrays->count || begin < 0 || begin + recipe->rest[2 * i + 1] > arrays->sizes[from]) return false;
        bound->arrays[i] = arrays->data[from] + begin;
    }
    return true;
}

/* Binds the parts of a step, or all of its work as one, from `bound` on. How many there are; 0 where they don't fit. */
static int64_t bind_step(Bound_Recipe *bound, int64_t room, PyObject *made, PyObject *layout, bool divided, const Arrays *arrays) {
    PyObject *recipes = PyTuple_GetItem(made, 0), *places = PyTuple_GetItem(layout, 0), *offsets = NULL;
    if (divided ? PyTuple_Size(PyTuple_GetItem(made, 1)) > 0 : !PyTuple_Size(recipes)) {
        recipes = PyTuple_GetItem(made, 1);
        offsets = PyTuple_GetItem(layout, 1);
    }
    int64_t count = PyTuple_Size(recipes), each = PyBytes_Size(places) / (Py_ssize_t)(2 * sizeof(int64_t));
    if (count > room || count > MOST_OF_STEP) return 0;
    if (offsets && PyBytes_Size(offsets) != (Py_ssize_t)sizeof(int64_t) * count * each) return 0;
    const int64_t *own = offsets ? (const int64_t *)PyBytes_AsString(offsets) : NULL;
    for (int64_t i = 0; i < count; i++)
        if (!bind_part(bound + i, PyTuple_GetItem(recipes, i), (const int64_t *)PyBytes_AsString(places), each, own ? own + i * each : NULL, arrays)) return 0;
    return count;
}

/* Runs the steps without the interpreter on so many threads. The library's status; -1 where recipes and arrays don't fit, or there is no
 * memory. */
static int run_steps_of(PyObject *made, PyObject *layouts, const Arrays *arrays, int threads, int64_t room) {
    int64_t count = PyTuple_Size(layouts), parts = 0;
    size_t lines = (size_t)count * sizeof(Step), size = lines + ((size_t)room * sizeof(Bound_Recipe) + 63) / 64 * 64;
    Step *steps = aligned_alloc(64, size);
    if (!steps) return -1;
    Bound_Recipe *bound = (Bound_Recipe *)((char *)steps + lines);
    Series series = {steps, count, 0, 0}, *at = &series;
    for (int64_t i = 0; i < count; i++) {
        int64_t own = bind_step(bound + parts, room - parts, PyTuple_GetItem(made, i), PyTuple_GetItem(layouts, i), threads > 1, arrays);
        if (!own) {
            free(steps);
            return -1;
        }
        steps[i] = (Step){0, 0, own, bound + parts};
        parts += own;
    }
    PyThreadState *state = PyEval_SaveThread();
    pool_run(run_series, &at, threads, 1, threads);
    PyEval_RestoreThread(state);
    free(steps);
    return series.status;
}

/* series(work, *arrays): does the steps of some work, of which `series.py` says what it is:
 *
 *     sizes: how many arrays are inputs, and how many elements each array has,
 *     sets: a list of sets of buffers; a call takes one, so that no other has it meanwhile. It has for each step the recipes that do it
 *         all, or none, and those of its parts, or none,
 *     layouts: for each step the places of its arrays, and the offsets of its parts (see `parts`),
 *     room: the most recipes that a call may have,
 *     threads: the memory of a `ThreadCount`, or None for one thread.
 *
 * Gives None. What does not fit, fails, or is not decided is left to the caller. */
static PyObject *k_series(const Call *call) {
    enum { SIZES, SETS, LAYOUTS, ROOM, THREADS, FIELDS };
    PyObject *work = call->count > 1 ? call->args[0] : NULL;
    if (!work || !PyTuple_CheckExact(work) || PyTuple_Size(work) != FIELDS) return NULL;
    PyObject *sets = PyTuple_GetItem(work, SETS), *layouts = PyTuple_GetItem(work, LAYOUTS);
    if (!PyList_CheckExact(sets) || !PyTuple_CheckExact(layouts)) return NULL;
    int threads = call->threads ? call->threads : decided_threads(PyTuple_GetItem(work, THREADS));
    if (threads < 1 || (!call->threads && threads > 1 && threads_of_short_call() < threads)) return NULL;
    Arrays arrays;
    PyObject *set = read_arrays(call, PyTuple_GetItem(work, SIZES), &arrays) ? take_last(sets) : NULL;
    if (!set) return NULL;
    bool done = !run_steps_of(set, layouts, &arrays, threads, PyLong_AsLongLong(PyTuple_GetItem(work, ROOM)));
    done = !PyList_Append(sets, set) && done;
    Py_DECREF(set);
    if (!done) return NULL;
    Py_RETURN_NONE;
}
