/* Tapes: instructions over numbered places (`actorflow/engine/runtime/tape`), without the interpreter between the calls.
 *
 * The places of a run are its inputs, the results of its calls, and the tape's constants. Each instruction is a line of numbers: what
 * it does, the object that it calls, how many places it reads, writes and empties, and these places. Objects belong to one tuple,
 * which the collector of garbage sees. A tape without loops runs from its first instruction to its last; the run of another one is an
 * object, which pauses after some iterations.
 */
#include "functions.h"

#include <dlfcn.h>

enum { MOST_ARGUMENTS = 64, MOST_ON_STACK = 128 };

typedef PyObject *(*Vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

/* CPython has it since 3.9, and its limited interface since 3.12. */
static Vectorcall vectorcall;

enum { CALL, MOVE, JUMP, TURN, ENTER, KINDS }; /* `Kind` in tape.py */

typedef struct {
    int32_t kind;
    int32_t function, otherwise, names; /* numbers of objects; -1 for none */
    int32_t inputs, list_begin, list_end, outputs, drops;
    int32_t target, sense; /* of a jump: the number of an instruction, and for which truth it is taken */
} Instruction;
enum { HEADER = sizeof(Instruction) / sizeof(int32_t) };

typedef struct {
    PyObject_HEAD
    PyObject *objects, *constants, *fail; /* tuples; `fail(error or result, at, values)` notes or makes an error */
    int32_t *code, *end;
    int64_t *starts;    /* of each instruction, in `code` */
    PyObject **items;   /* the constants, then the objects, which the tuples own */
    int32_t *operators; /* for each object the number of an operator that Python has; -1 for any other function */
    int64_t inputs, dynamic, results, instructions;
    const int32_t *gives;
} Tape;

static PyTypeObject *tape_type;

/* A tape never changes, so each circle of references through it goes through an object that can be cleared: it has no `tp_clear`, as
 * tuples have none. */
static int tape_traverse(PyObject *self, visitproc visit, void *arg) {
    Tape *tape = (Tape *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(tape->objects);
    Py_VISIT(tape->constants);
    Py_VISIT(tape->fail);
    return 0;
}

static void tape_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Tape *tape = (Tape *)self;
    Py_XDECREF(tape->objects);
    Py_XDECREF(tape->constants);
    Py_XDECREF(tape->fail);
    free(tape->code);
    free(tape->starts);
    free(tape->items);
    free(tape->operators);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* ---- a run */

typedef struct {
    const Tape *tape;
    PyObject **values; /* of inputs and results */
    int64_t at;        /* the number of the next instruction */
    PyObject *inner;   /* the run of an inner loop, in which this one is; or NULL */
} Run;

static PyObject *at_place(const Run *run, int32_t place) {
    if (place >= run->tape->dynamic) return run->tape->items[place - run->tape->dynamic];
    PyObject *value = run->values[place];
    if (!value) PyErr_Format(PyExc_SystemError, "place %d of a tape is read, but it is empty", (int)place);
    return value;
}

static void put(const Run *run, int32_t place, PyObject *value) {
    PyObject *before = run->values[place];
    run->values[place] = value;
    Py_XDECREF(before);
}

/* Operators are called without their functions of the module `operator`. */
typedef PyObject *(*Binary)(PyObject *, PyObject *);
typedef PyObject *(*Unary)(PyObject *);
static const struct {
    const char *name;
    Binary binary;
    Unary unary;
    int compares; /* -1, or how */
} operators[] = {
    {"add", PyNumber_Add, NULL, -1},        {"sub", PyNumber_Subtract, NULL, -1}, {"mul", PyNumber_Multiply, NULL, -1},
    {"truediv", PyNumber_TrueDivide, NULL, -1}, {"and_", PyNumber_And, NULL, -1},     {"or_", PyNumber_Or, NULL, -1},
    {"xor", PyNumber_Xor, NULL, -1},        {"neg", NULL, PyNumber_Negative, -1}, {"abs", NULL, PyNumber_Absolute, -1},
    {"invert", NULL, PyNumber_Invert, -1},  {"lt", NULL, NULL, Py_LT},            {"le", NULL, NULL, Py_LE},
    {"gt", NULL, NULL, Py_GT},              {"ge", NULL, NULL, Py_GE},            {"eq", NULL, NULL, Py_EQ},
    {"ne", NULL, NULL, Py_NE},
};
enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };
static PyObject *operator_functions[OPERATORS];

static int32_t operator_of(const PyObject *function) {
    for (int32_t i = 0; i < OPERATORS; i++)
        if (operator_functions[i] == function) return i;
    return -1;
}

/* The result of an operator. */
static PyObject *operated(int32_t number, PyObject *const *args) {
    if (operators[number].binary) return operators[number].binary(args[0], args[1]);
    if (operators[number].unary) return operators[number].unary(args[0]);
    return PyObject_RichCompare(args[0], args[1], operators[number].compares);
}

static PyObject *called(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    /* The place before the arguments is free for a method's object. */
    if (vectorcall) return vectorcall(function, args, (size_t)count | ((size_t)1 << (8 * sizeof(size_t) - 1)), names);
    return call_python(function, args, count, names);
}

/* Calls the function of an instruction. */
static PyObject *performed(const Run *run, const Instruction *own, const int32_t *places) {
    PyObject *room[MOST_ARGUMENTS + 1], **args = room + 1, *list = NULL;
    PyObject *const *objects = run->tape->items + PyTuple_Size(run->tape->constants);
    int32_t count = 0, number = run->tape->operators[own->function];
    if (number >= 0) {
        for (; count < own->inputs; count++)
            if (!(args[count] = at_place(run, places[count]))) return NULL;
        return operated(number, args);
    }
    for (int32_t i = 0; i < own->inputs; i++) {
        if (!list && i == own->list_begin && own->list_end >= 0) {
            list = PyList_New(own->list_end - own->list_begin);
            if (!list) return NULL;
            for (int32_t k = own->list_begin; k < own->list_end; k++) {
                PyObject *value = at_place(run, places[k]);
                if (!value) {
                    Py_DECREF(list);
                    return NULL;
                }
                Py_INCREF(value);
                PyList_SetItem(list, k - own->list_begin, value);
            }
            args[count++] = list;
            i = own->list_end - 1;
            continue;
        }
        args[count] = at_place(run, places[i]);
        if (!args[count++]) {
            Py_XDECREF(list);
            return NULL;
        }
    }
    if (own->list_end >= 0 && !list) { /* an empty one at the end */
        list = PyList_New(0);
        if (!list) return NULL;
        args[count++] = list;
    }
    PyObject *names = own->names >= 0 ? objects[own->names] : NULL;
    Py_ssize_t positional = count - (names ? PyTuple_Size(names) : 0);
    PyObject *result = called(objects[own->function], args, positional, names);
    if (result && own->otherwise >= 0) {
        int again = PyObject_IsTrue(result);
        if (again) {
            Py_DECREF(result);
            result = again < 0 ? NULL : called(objects[own->otherwise], args, positional, names);
        }
    }
    Py_XDECREF(list);
    return result;
}

/* Puts the results of a call into their places, and lets go of `result`. False where there are others than the instruction has. */
static bool stored(const Run *run, const Instruction *own, const int32_t *places, PyObject *result) {
    if (own->outputs == 1) {
        if (PyTuple_CheckExact(result)) return false;
        if (places[0] >= 0)
            put(run, places[0], result);
        else
            Py_DECREF(result);
        return true;
    }
    if (own->outputs) {
        bool tuple = PyTuple_Check(result);
        if (!tuple && !PyList_Check(result)) return false;
        if ((tuple ? PyTuple_Size(result) : PyList_Size(result)) != own->outputs) return false;
        for (int32_t i = 0; i < own->outputs; i++) {
            if (places[i] < 0) continue;
            PyObject *value = tuple ? PyTuple_GetItem(result, i) : PyList_GetItem(result, i);
            if (!value) { /* the list became shorter meanwhile */
                PyErr_Clear();
                return false;
            }
            Py_INCREF(value);
            put(run, places[i], value);
        }
    }
    Py_DECREF(result);
    return true;
}

/* Has Python note at the exception that is set which instruction raised it; or, with results that are wrong, raise one. */
static void failed(const Run *run, int64_t at, PyObject *wrong) {
    const Tape *tape = run->tape;
    PyObject *type = NULL, *error = NULL, *traceback = NULL;
    if (!wrong) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "a call gave no result and no exception");
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
    }
    int64_t constants = PyTuple_Size(tape->constants);
    PyObject *values = PyList_New(tape->dynamic + constants);
    for (int64_t i = 0; values && i < tape->dynamic + constants; i++) {
        PyObject *value = i < tape->dynamic ? run->values[i] : PyTuple_GetItem(tape->constants, i - tape->dynamic);
        if (!value) value = Py_None;
        Py_INCREF(value);
        PyList_SetItem(values, i, value);
    }
    PyObject *number = PyLong_FromLongLong(at);
    PyObject *noted = values && number ? PyObject_CallFunctionObjArgs(tape->fail, error ? error : Py_None, number, values, wrong ? wrong : Py_None, NULL) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(values);
    if (wrong) { /* the call raised */
        Py_XDECREF(noted);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "a tape met wrong results");
        return;
    }
    if (!noted) PyErr_Clear();
    Py_XDECREF(noted);
    PyErr_Restore(type, error, traceback);
}

/* Moves the values of the inputs into the outputs. False with an exception. */
static bool moved(const Run *run, const Instruction *own, const int32_t *inputs, const int32_t *outputs) {
    PyObject *values[MOST_ARGUMENTS];
    for (int32_t i = 0; i < own->inputs; i++) {
        values[i] = at_place(run, inputs[i]);
        if (!values[i]) {
            while (i--) Py_DECREF(values[i]);
            return false;
        }
        Py_INCREF(values[i]);
    }
    for (int32_t i = 0; i < own->inputs; i++)
        if (outputs[i] >= 0)
            put(run, outputs[i], values[i]);
        else
            Py_DECREF(values[i]);
    return true;
}

/* Whether a jump is taken. -1 with an exception. */
static int is_taken(const Run *run, const Instruction *own, const int32_t *inputs) {
    if (!own->inputs) return 1;
    PyObject *value = at_place(run, inputs[0]);
    int truth = value ? PyObject_IsTrue(value) : -1;
    return truth < 0 ? -1 : truth == own->sense;
}

/* Goes on in the run of an inner loop, which it begins if there is none. The turns that are left; -1 if it paused; -2 with an
 * exception, and `*result` at its end. */
static int64_t entered(Run *run, const Instruction *own, const int32_t *inputs, int64_t turns, PyObject **result) {
    static PyObject *go, *results;
    if (!go && !(go = PyUnicode_InternFromString("go"))) return -2;
    if (!results && !(results = PyUnicode_InternFromString("result"))) return -2;
    if (!run->inner) {
        PyObject *list = PyList_New(own->inputs);
        for (int32_t i = 0; list && i < own->inputs; i++) {
            PyObject *value = at_place(run, inputs[i]);
            if (!value) {
                Py_DECREF(list);
                return -2;
            }
            Py_INCREF(value);
            PyList_SetItem(list, i, value);
        }
        if (list) run->inner = PyObject_CallFunctionObjArgs(run->tape->items[PyTuple_Size(run->tape->constants) + own->function], list, NULL);
        Py_XDECREF(list);
        if (!run->inner) {
            failed(run, run->at, NULL);
            return -2;
        }
    }
    PyObject *number = PyLong_FromLongLong(turns);
    PyObject *left = number ? PyObject_CallMethodObjArgs(run->inner, go, number, NULL) : NULL;
    Py_XDECREF(number);
    if (!left) return -2;
    turns = PyLong_AsLongLong(left);
    Py_DECREF(left);
    if (turns < 0) return PyErr_Occurred() ? -2 : -1;
    *result = PyObject_CallMethodObjArgs(run->inner, results, NULL);
    Py_CLEAR(run->inner);
    return *result ? turns : -2;
}

/* Goes on, through so many iterations at most. How many are left at the end of the tape; -1 if the run paused; -2 with an exception. */
static int64_t go_on(Run *run, int64_t turns) {
    enum { SIGNALS = 8, CLOCK = 64, LONGEST = 2000000 }; /* turns between two looks, and nanoseconds after which a run pauses */
    const Tape *tape = run->tape;
    int64_t counted = 0, begun = 0;
    while (run->at < tape->instructions) {
        const Instruction *own = (const Instruction *)(tape->code + tape->starts[run->at]);
        const int32_t *inputs = (const int32_t *)own + HEADER, *outputs = inputs + own->inputs, *drops = outputs + own->outputs;
        PyObject *result = NULL;
        int64_t next = run->at + 1;
        bool done = true;
        switch (own->kind) {
        case CALL: done = (result = performed(run, own, inputs)); break;
        case MOVE: done = moved(run, own, inputs, outputs); break;
        case JUMP: {
            int taken = is_taken(run, own, inputs);
            if (taken > 0) next = own->target;
            done = taken >= 0;
            break;
        }
        case ENTER:
            turns = entered(run, own, inputs, turns, &result);
            if (turns == -1) return -1;
            if (turns < 0) return -2; /* the inner loop says where */
            break;
        default: break;
        }
        if (!done) {
            failed(run, run->at, NULL);
            return -2;
        }
        if (result && !stored(run, own, outputs, result)) {
            failed(run, run->at, result);
            Py_DECREF(result);
            return -2;
        }
        for (int32_t i = 0; i < own->drops; i++) put(run, drops[i], NULL);
        run->at = next;
        if (own->kind != TURN) continue;
        if (--turns <= 0) return -1;
        if (++counted % SIGNALS) continue; /* signals and other threads wait meanwhile */
        if (PyErr_CheckSignals()) return -2;
        if (counted % CLOCK == 0) { /* where the clock is a call of the system, it takes as long as several turns */
            int64_t now = nanoseconds();
            if (!begun) begun = now;
            if (now - begun > LONGEST) return -1;
        }
    }
    return turns;
}

static PyObject *results_of(const Run *run) {
    const Tape *tape = run->tape;
    if (!tape->results) Py_RETURN_NONE;
    PyObject *several = tape->results > 1 ? PyTuple_New(tape->results) : NULL;
    if (tape->results > 1 && !several) return NULL;
    for (int64_t i = 0; i < tape->results; i++) {
        PyObject *value = at_place(run, tape->gives[i]);
        if (!value) {
            Py_XDECREF(several);
            return NULL;
        }
        Py_INCREF(value);
        if (!several) return value;
        PyTuple_SetItem(several, i, value);
    }
    return several;
}

/* Takes the inputs out of a list. False with an exception. */
static bool take_inputs(const Tape *tape, PyObject *inputs, PyObject **values) {
    if (!PyList_CheckExact(inputs) || PyList_Size(inputs) != tape->inputs) {
        PyErr_Format(PyExc_TypeError, "a tape takes a list of %d inputs", (int)tape->inputs);
        return false;
    }
    for (int64_t i = 0; i < tape->inputs; i++) {
        values[i] = PyList_GetItem(inputs, i);
        Py_INCREF(values[i]);
    }
    memset(values + tape->inputs, 0, sizeof(PyObject *) * (size_t)(tape->dynamic - tape->inputs));
    return !PyList_SetSlice(inputs, 0, tape->inputs, NULL);
}

/* The function that a tape without loops is: it takes a list of inputs, and empties it. */
static PyObject *run_tape(PyObject *self, PyObject *inputs) {
    const Tape *tape = (const Tape *)self;
    PyObject *room[MOST_ON_STACK], **values = room;
    if (tape->dynamic > MOST_ON_STACK && !(values = malloc(sizeof(PyObject *) * (size_t)tape->dynamic))) return PyErr_NoMemory();
    Run run = {tape, values, 0, NULL};
    PyObject *found = NULL;
    if (take_inputs(tape, inputs, values)) {
        Py_INCREF(self);
        if (go_on(&run, 1) != -2) found = results_of(&run);
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        for (int64_t i = 0; i < tape->dynamic; i++) Py_XDECREF(values[i]);
        Py_XDECREF(run.inner);
        PyErr_Restore(type, error, traceback);
        Py_DECREF(self);
    }
    if (values != room) free(values);
    return found;
}

static PyMethodDef run_definition = {"tape", run_tape, METH_O, NULL};

/* ---- a run that may pause */

typedef struct {
    PyObject_HEAD
    Run run;
    bool busy;
} PausedRun;

static PyTypeObject *paused_type;

static int paused_clear(PyObject *self) {
    Run *run = &((PausedRun *)self)->run;
    Py_CLEAR(run->inner);
    for (int64_t i = 0; run->values && i < run->tape->dynamic; i++) Py_CLEAR(run->values[i]);
    return 0;
}

static int paused_traverse(PyObject *self, visitproc visit, void *arg) {
    Run *run = &((PausedRun *)self)->run;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)run->tape);
    Py_VISIT(run->inner);
    for (int64_t i = 0; run->values && i < run->tape->dynamic; i++) Py_VISIT(run->values[i]);
    return 0;
}

static void paused_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Run *run = &((PausedRun *)self)->run;
    PyObject_GC_UnTrack(self);
    paused_clear(self);
    free(run->values);
    Py_XDECREF((PyObject *)run->tape);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *paused_go(PyObject *self, PyObject *turns) {
    PausedRun *paused = (PausedRun *)self;
    int64_t most = PyLong_AsLongLong(turns);
    if (most == -1 && PyErr_Occurred()) return NULL;
    if (paused->busy) return PyErr_Format(PyExc_RuntimeError, "this run of a tape is under way");
    paused->busy = true;
    Py_INCREF(self);
    int64_t left = go_on(&paused->run, most);
    paused->busy = false;
    Py_DECREF(self);
    return left == -2 ? NULL : PyLong_FromLongLong(left);
}

static PyObject *paused_result(PyObject *self, PyObject *unused) {
    (void)unused;
    return results_of(&((PausedRun *)self)->run);
}

static PyMethodDef paused_methods[] = {
    {"go", paused_go, METH_O, NULL}, {"result", paused_result, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot paused_slots[] = {{Py_tp_dealloc, paused_dealloc},
                                     {Py_tp_traverse, paused_traverse},
                                     {Py_tp_clear, paused_clear},
                                     {Py_tp_methods, paused_methods},
                                     {0, NULL}};
static PyType_Spec paused_spec = {"actorflow.kernels.native._native.TapeRun", sizeof(PausedRun), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, paused_slots};

/* The function that begins a run of a tape: it takes a list of inputs, and empties it. */
static PyObject *begin_tape(PyObject *self, PyObject *inputs) {
    const Tape *tape = (const Tape *)self;
    PyObject **values = calloc((size_t)tape->dynamic + 1, sizeof(PyObject *));
    if (!values) return PyErr_NoMemory();
    PausedRun *paused = take_inputs(tape, inputs, values) ? PyObject_GC_New(PausedRun, paused_type) : NULL;
    if (!paused) {
        for (int64_t i = 0; i < tape->dynamic; i++) Py_XDECREF(values[i]);
        free(values);
        return NULL;
    }
    Py_INCREF(self);
    paused->run = (Run){tape, values, 0, NULL};
    paused->busy = false;
    PyObject_GC_Track((PyObject *)paused);
    return (PyObject *)paused;
}

static PyMethodDef begin_definition = {"begin_tape", begin_tape, METH_O, NULL};

/* ---- making one */

static bool is_place(const Tape *tape, int32_t place, bool written) {
    int64_t most = tape->dynamic + (written ? 0 : PyTuple_Size(tape->constants));
    return place < most && place >= (written ? -1 : 0);
}

/* Whether the numbers of an instruction are within bounds. `left` are the numbers from it to the end of the code. */
static bool is_sound_instruction(const Tape *tape, const Instruction *own, int64_t left) {
    Py_ssize_t objects = PyTuple_Size(tape->objects);
    if (own->kind < 0 || own->kind >= KINDS || own->inputs < 0 || own->outputs < 0 || own->drops < 0) return false;
    if (left - HEADER < (int64_t)own->inputs + own->outputs + own->drops) return false;
    int32_t listed = own->list_end >= 0 ? own->list_end - own->list_begin : 0;
    if (listed < 0 || own->list_end > own->inputs || (own->list_end >= 0 && own->list_begin < 0)) return false;
    if (own->kind != ENTER && own->inputs - listed + 1 > MOST_ARGUMENTS) return false;
    if (own->function >= objects || own->otherwise >= objects || own->names >= objects) return false;
    if ((own->kind == CALL || own->kind == ENTER) && own->function < 0) return false;
    if (own->kind == MOVE && own->inputs != own->outputs) return false;
    if (own->kind != CALL && (own->list_end >= 0 || own->names >= 0)) return false;
    if (own->kind == JUMP && (own->target < 0 || own->inputs > 1 || own->outputs)) return false;
    if (own->names >= 0 && !PyTuple_CheckExact(PyTuple_GetItem(tape->objects, own->names))) return false;
    const int32_t *places = (const int32_t *)own + HEADER;
    for (int32_t i = 0; i < own->inputs; i++)
        if (!is_place(tape, places[i], false)) return false;
    for (int32_t i = 0; i < own->outputs + own->drops; i++)
        if (!is_place(tape, places[own->inputs + i], true) || (i >= own->outputs && places[own->inputs + i] < 0)) return false;
    return true;
}

/* Whether a function may be called as an operator in an instruction. */
static bool is_operator(const Instruction *own, int32_t number) {
    if (own->kind != CALL || own->names >= 0 || own->list_end >= 0 || own->otherwise >= 0 || number < 0) return false;
    return own->inputs == (operators[number].unary ? 1 : 2);
}

/* Notes what the tuples have, and which functions are operators. False without memory. */
static bool prepared(Tape *tape) {
    Py_ssize_t constants = PyTuple_Size(tape->constants), objects = PyTuple_Size(tape->objects);
    tape->items = malloc(sizeof(PyObject *) * (size_t)(constants + objects + 1));
    tape->operators = malloc(sizeof(int32_t) * (size_t)(objects + 1));
    if (!tape->items || !tape->operators) return false;
    for (Py_ssize_t i = 0; i < constants; i++) tape->items[i] = PyTuple_GetItem(tape->constants, i);
    for (Py_ssize_t i = 0; i < objects; i++) {
        tape->items[constants + i] = PyTuple_GetItem(tape->objects, i);
        tape->operators[i] = operator_of(tape->items[constants + i]);
    }
    for (int64_t i = 0; i < tape->instructions; i++) {
        const Instruction *own = (const Instruction *)(tape->code + tape->starts[i]);
        if (own->function >= 0 && !is_operator(own, tape->operators[own->function])) tape->operators[own->function] = -1;
    }
    return true;
}

/* Finds where the instructions begin. False if a number is out of bounds. */
static bool is_sound(Tape *tape) {
    int64_t numbers = tape->end - tape->code;
    tape->starts = malloc(sizeof(int64_t) * (size_t)(numbers / HEADER + 1));
    if (!tape->starts) return false;
    for (int64_t next = 0; next < numbers;) {
        const Instruction *own = (const Instruction *)(tape->code + next);
        if (numbers - next < HEADER || !is_sound_instruction(tape, own, numbers - next)) return false;
        tape->starts[tape->instructions++] = next;
        next += HEADER + own->inputs + own->outputs + own->drops;
    }
    for (int64_t i = 0; i < tape->instructions; i++) {
        const Instruction *own = (const Instruction *)(tape->code + tape->starts[i]);
        if (own->kind == JUMP && own->target > tape->instructions) return false;
    }
    for (int64_t i = 0; i < tape->results; i++)
        if (!is_place(tape, tape->gives[i], false)) return false;
    return true;
}

/* tape(inputs, dynamic, constants, objects, code, fail, pauses): the function that performs a tape, or that begins a run that may pause.
 * `code` are 32-bit numbers: those of all instructions, then the places of the results, then how many these are. */
PyObject *make_tape(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 7 || !PyTuple_CheckExact(args[2]) || !PyTuple_CheckExact(args[3]) || !PyBytes_CheckExact(args[4]))
        return PyErr_Format(PyExc_TypeError, "tape(inputs, dynamic, constants, objects, code, fail, pauses)");
    int64_t inputs = PyLong_AsLongLong(args[0]), dynamic = PyLong_AsLongLong(args[1]);
    if (PyErr_Occurred()) return NULL;
    Py_ssize_t size = PyBytes_Size(args[4]), numbers = size / (Py_ssize_t)sizeof(int32_t);
    int32_t *code = malloc((size_t)size + 1);
    if (!code) return PyErr_NoMemory();
    memcpy(code, PyBytes_AsString(args[4]), (size_t)size);
    int64_t results = numbers ? code[numbers - 1] : -1;
    Tape *tape = results < 0 || results >= numbers || inputs < 0 || dynamic < inputs ? NULL : PyObject_GC_New(Tape, tape_type);
    if (!tape) {
        free(code);
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "this is no tape");
    }
    tape->objects = args[3];
    tape->constants = args[2];
    tape->fail = args[5];
    Py_INCREF(args[3]);
    Py_INCREF(args[2]);
    Py_INCREF(args[5]);
    tape->code = code;
    tape->end = code + numbers - 1 - results;
    tape->gives = tape->end;
    tape->inputs = inputs;
    tape->dynamic = dynamic;
    tape->results = results;
    tape->starts = NULL;
    tape->items = NULL;
    tape->operators = NULL;
    tape->instructions = 0;
    PyObject_GC_Track((PyObject *)tape);
    PyObject *made = NULL;
    if (is_sound(tape) && prepared(tape))
        made = PyCFunction_NewEx(PyObject_IsTrue(args[6]) ? &begin_definition : &run_definition, (PyObject *)tape, NULL);
    else
        PyErr_SetString(PyExc_ValueError, "this is no tape");
    Py_DECREF((PyObject *)tape);
    return made;
}

static PyType_Slot tape_slots[] = {
    {Py_tp_dealloc, tape_dealloc}, {Py_tp_traverse, tape_traverse}, {0, NULL}};
static PyType_Spec tape_spec = {"actorflow.kernels.native._native.Tape", sizeof(Tape), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, tape_slots};

bool make_tape_type(void) {
    PyObject *module = PyImport_ImportModule("operator");
    for (int i = 0; module && i < OPERATORS; i++) /* the module keeps them; so do we */
        if (!(operator_functions[i] = PyObject_GetAttrString(module, operators[i].name))) Py_CLEAR(module);
    if (!module) return false;
    Py_DECREF(module);
    vectorcall = (Vectorcall)dlsym(RTLD_DEFAULT, "PyObject_Vectorcall");
    tape_type = (PyTypeObject *)PyType_FromSpec(&tape_spec);
    paused_type = tape_type ? (PyTypeObject *)PyType_FromSpec(&paused_spec) : NULL;
    return paused_type;
}
