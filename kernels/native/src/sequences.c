/* The loss of connectionist temporal classification and its gradient: the forward-backward algorithm (Graves, 7.3).
 *
 * States are the labels of a sequence with blanks between and around them. Probabilities of float64 are divided, at each time, by the
 * largest of the states, whose logarithm is summed: no exponential and no logarithm for each state. A state that is too improbable for
 * that counts as impossible. What it could have added is known from the products of both directions, and where that might be seen,
 * the call is left to Python, which adds logarithms.
 */

enum { SEQUENCE_PIECE = 1 };
static const double LEAST_SHARE = 1e-200; /* of the most probable states in both directions; what is lost is below 1e-227 of these */
static const double LEAST_LARGEST = 1e-80; /* a product below 1e-307 is not exact, and then is below 1e-227 of the largest */

typedef struct {
    const void *logits;  /* [time, batch, classes] */
    void *loss, *gradient;
    bool wide, merge;
    const int32_t *lengths; /* 0 for a sequence that is left out */
    const int64_t *labels, *starts;
    int64_t batch, classes;
    int *failed; /* 1 where a sequence is left to Python, 2 without memory */
} Sequences;

/* Divides by the largest, and gives it; 0 where it is too small for that. */
static double scaled(double *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) most = x[i] > most ? x[i] : most;
    if (most < LEAST_LARGEST) return 0;
    double factor = 1 / most;
    for (int64_t i = 0; i < count; i++) x[i] *= factor;
    return most;
}

static void probabilities(const Sequences *s, int64_t time, int64_t sequence, double *row, double *out) {
    int64_t n = s->classes, first = (time * s->batch + sequence) * n;
    double most = -INFINITY, total = 0;
    for (int64_t c = 0; c < n; c++) row[c] = s->wide ? ((const double *)s->logits)[first + c] : ((const float *)s->logits)[first + c];
    for (int64_t c = 0; c < n; c++) most = row[c] > most ? row[c] : most;
    for (int64_t c = 0; c < n; c++) row[c] -= most;
    numpy_call(&numpy_loops[NUMPY_EXP][1], row, out, n, sizeof(double));
    for (int64_t c = 0; c < n; c++) total += out[c];
    for (int64_t c = 0; c < n; c++) out[c] /= total;
}

/* One sequence, in memory for classes, for probabilities and states at all times, and for two rows of each more. False where Python
 * has to do it. */
static bool sequence_loss(const Sequences *s, int64_t b, double *memory) {
    const int64_t *labels = s->labels + s->starts[b];
    int64_t time = s->lengths[b], count = s->starts[b + 1] - s->starts[b], states = 2 * count + 1, blank = s->classes - 1;
    double *row = memory, *shares = row + s->classes, *each = shares + s->classes, *ahead = each + time * s->classes;
    double *behind = ahead + time * states, *reached = behind + states, logs = 0;
    for (int64_t t = 0; t < time; t++) probabilities(s, t, b, row, each + t * s->classes);
    for (int64_t u = 0; u < states; u++) ahead[u] = u > 1 ? 0 : each[u ? labels[0] : blank];
    for (int64_t t = 0; t < time; t++) {
        double *to = ahead + t * states;
        const double *from = to - states, *p = each + t * s->classes;
        for (int64_t u = 0; t && u < states; u++) {
            double sum = u & 1 && !s->merge ? 0 : from[u];
            if (u) sum += from[u - 1];
            if (u & 1 && u > 1 && !(s->merge && labels[u / 2] == labels[u / 2 - 1])) sum += from[u - 2];
            to[u] = sum * p[u & 1 ? labels[u / 2] : blank];
        }
        double most = scaled(to, states);
        if (!(most > 0) || isinf(most)) return false;
        logs += log(most);
    }
    double *last = ahead + (time - 1) * states, end = last[states - 1] + last[states - 2];
    if (!(end >= LEAST_SHARE)) return false;
    double loss = -(log(end) + logs);
    for (int64_t t = time - 1; t >= 0; t--) {
        const double *p = each + t * s->classes, *at = ahead + t * states;
        if (t == time - 1)
            for (int64_t u = 0; u < states; u++) behind[u] = u >= states - 2;
        else { /* `reached` has what the states at t + 1 are worth, with their own probabilities */
            for (int64_t u = 0; u < states; u++) {
                double sum = u & 1 && !s->merge ? 0 : reached[u];
                if (u + 1 < states) sum += reached[u + 1];
                if (u & 1 && u + 2 < states && !(s->merge && labels[u / 2] == labels[u / 2 + 1])) sum += reached[u + 2];
                behind[u] = sum;
            }
            if (!(scaled(behind, states) > 0)) return false;
        }
        double total = 0;
        for (int64_t u = 0; u < states; u++) total += at[u] * behind[u];
        if (!(total >= LEAST_SHARE)) return false;
        memcpy(shares, p, s->classes * sizeof(double));
        for (int64_t u = 0; u < states; u++) {
            int64_t label = u & 1 ? labels[u / 2] : blank;
            shares[label] -= at[u] * behind[u] / total;
            reached[u] = behind[u] * p[label];
        }
        int64_t first = (t * s->batch + b) * s->classes;
        for (int64_t c = 0; c < s->classes; c++) {
            if (s->wide) ((double *)s->gradient)[first + c] = shares[c];
            else ((float *)s->gradient)[first + c] = (float)shares[c];
        }
    }
    if (s->wide) ((double *)s->loss)[b] = loss;
    else ((float *)s->loss)[b] = (float)loss;
    return true;
}

static void sequence_losses(int64_t begin, int64_t count, const void *given) {
    const Sequences *s = given;
    for (int64_t b = begin; b < begin + count; b++) {
        int64_t time = s->lengths[b], states = 2 * (s->starts[b + 1] - s->starts[b]) + 1;
        if (!time) continue;
        double *memory = malloc((size_t)((time + 2) * s->classes + (time + 2) * states) * sizeof(double));
        if (!memory) __atomic_store_n(s->failed, 2, __ATOMIC_RELAXED);
        else if (!sequence_loss(s, b, memory)) __atomic_store_n(s->failed, 1, __ATOMIC_RELAXED);
        free(memory);
    }
}

/* ctc(logits, lengths, labels, starts, merge): the losses and their gradient. The labels of sequence b are those from starts[b] to
 * starts[b + 1]; each has one or more. */
static PyObject *k_ctc(const Call *call) {
    PyArrayObject *logits = array_at(call, 0), *lengths = typed_at(call, 1, NPY_INT32), *labels = typed_at(call, 2, NPY_INT64);
    PyArrayObject *starts = typed_at(call, 3, NPY_INT64);
    if (!logits || !lengths || !labels || !starts || call->count != 5 || !PyBool_Check(call->args[4])) return NULL;
    int type = PyArray_TYPE(logits);
    if ((type != NPY_FLOAT32 && type != NPY_FLOAT64) || PyArray_NDIM(logits) != 3) return NULL;
    int64_t time = PyArray_DIM(logits, 0), batch = PyArray_DIM(logits, 1), classes = PyArray_DIM(logits, 2);
    if (PyArray_SIZE(lengths) != batch || PyArray_SIZE(starts) != batch + 1 || !PyArray_SIZE(logits)) return NULL;
    const int32_t *sizes = PyArray_DATA(lengths);
    const int64_t *first = PyArray_DATA(starts), *each = PyArray_DATA(labels), count = PyArray_SIZE(labels);
    int64_t work = 0;
    if (first[0] || first[batch] != count) return NULL;
    for (int64_t b = 0; b < batch; b++) {
        if (sizes[b] < 0 || sizes[b] > time || first[b + 1] <= first[b] || first[b + 1] > count) return NULL;
        work += sizes[b] * (classes + 2 * (first[b + 1] - first[b]));
    }
    for (int64_t i = 0; i < count; i++)
        if (each[i] < 0 || each[i] >= classes - 1) return NULL;
    if (left_to_python(call, PyArray_SIZE(logits))) return NULL;
    PyArrayObject *loss = fresh(type, 1, PyArray_DIMS(lengths)), *gradient = fresh(type, 3, PyArray_DIMS(logits));
    if (!loss || !gradient) return pair(loss, gradient);
    memset(PyArray_DATA(loss), 0, PyArray_NBYTES(loss));
    memset(PyArray_DATA(gradient), 0, PyArray_NBYTES(gradient));
    int failed = 0;
    Sequences s = {PyArray_DATA(logits), PyArray_DATA(loss), PyArray_DATA(gradient), type == NPY_FLOAT64, call->args[4] == Py_True,
                   sizes, each, first, batch, classes, &failed};
    work_through(call, sequence_losses, &s, batch, SEQUENCE_PIECE, work);
    if (!failed) return pair(loss, gradient);
    Py_DECREF((PyObject *)loss);
    Py_DECREF((PyObject *)gradient);
    return failed == 2 ? PyErr_NoMemory() : NULL;
}
