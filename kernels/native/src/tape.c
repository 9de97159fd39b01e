/* Tapes: calls in a row over numbered places (`actorflow/runtime/tape`), without the interpreter between the calls.
 *
 * The places of a run are its inputs, the results of its calls, and the tape's constants. Each instruction is a line of numbers: the
 * object that it calls, how many places it reads, writes and empties, and these places. Objects belong to one tuple, which the
 * collector of garbage sees.
 */
#include "functions.h"

#include <dlfcn.h>

enum { MOST_ARGUMENTS = 64, MOST_ON_STACK = 128 };

typedef PyObject *(*Vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

/* CPython has it since 3.9, and its limited interface since 3.12. */
static Vectorcall vectorcall;

typedef struct {
    int32_t function, otherwise, names; /* numbers of objects; -1 for none */
    int32_t inputs, list_begin, list_end, outputs, drops;
} Instruction;
enum { HEADER = sizeof(Instruction) / sizeof(int32_t) };

typedef struct {
    PyObject_HEAD
    PyObject *objects, *constants, *fail; /* tuples; `fail(error or result, at, values)` notes or makes an error */
    int32_t *code, *end;
    int64_t inputs, dynamic, results;
    const int32_t *gives;
} Tape;

static PyTypeObject *tape_type;

static int tape_clear(PyObject *self) {
    Tape *tape = (Tape *)self;
    Py_CLEAR(tape->objects);
    Py_CLEAR(tape->constants);
    Py_CLEAR(tape->fail);
    return 0;
}

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
    tape_clear(self);
    free(((Tape *)self)->code);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* ---- a run */

typedef struct {
    const Tape *tape;
    PyObject **values; /* of inputs and results */
} Run;

static PyObject *at_place(const Run *run, int32_t place) {
    if (place >= run->tape->dynamic) return PyTuple_GetItem(run->tape->constants, place - run->tape->dynamic);
    PyObject *value = run->values[place];
    if (!value) PyErr_Format(PyExc_SystemError, "place %d of a tape is read, but it is empty", (int)place);
    return value;
}

static void put(const Run *run, int32_t place, PyObject *value) {
    PyObject *before = run->values[place];
    run->values[place] = value;
    Py_XDECREF(before);
}

static PyObject *called(PyObject *function, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    /* The place before the arguments is free for a method's object. */
    if (vectorcall) return vectorcall(function, args, (size_t)count | ((size_t)1 << (8 * sizeof(size_t) - 1)), names);
    return call_python(function, args, count, names);
}

/* Calls the function of an instruction. */
static PyObject *performed(const Run *run, const Instruction *own, const int32_t *places) {
    PyObject *room[MOST_ARGUMENTS + 1], **args = room + 1, *list = NULL, *objects = run->tape->objects;
    int32_t count = 0;
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
    PyObject *names = own->names >= 0 ? PyTuple_GetItem(objects, own->names) : NULL;
    Py_ssize_t positional = count - (names ? PyTuple_Size(names) : 0);
    PyObject *result = called(PyTuple_GetItem(objects, own->function), args, positional, names);
    if (result && own->otherwise >= 0) {
        int again = PyObject_IsTrue(result);
        if (again) {
            Py_DECREF(result);
            result = again < 0 ? NULL : called(PyTuple_GetItem(objects, own->otherwise), args, positional, names);
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
        bool tuple = PyTuple_CheckExact(result);
        if (!tuple && !PyList_CheckExact(result)) return false;
        if ((tuple ? PyTuple_Size(result) : PyList_Size(result)) != own->outputs) return false;
        for (int32_t i = 0; i < own->outputs; i++) {
            if (places[i] < 0) continue;
            PyObject *value = tuple ? PyTuple_GetItem(result, i) : PyList_GetItem(result, i);
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

static bool performed_all(const Run *run) {
    const int32_t *next = run->tape->code;
    for (int64_t at = 0; next < run->tape->end; at++) {
        const Instruction *own = (const Instruction *)next;
        const int32_t *inputs = next + HEADER, *outputs = inputs + own->inputs, *drops = outputs + own->outputs;
        next = drops + own->drops;
        PyObject *result = performed(run, own, inputs);
        if (!result) {
            failed(run, at, NULL);
            return false;
        }
        if (!stored(run, own, outputs, result)) {
            failed(run, at, result);
            Py_DECREF(result);
            return false;
        }
        for (int32_t i = 0; i < own->drops; i++) put(run, drops[i], NULL);
    }
    return true;
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

/* The function that a tape is: it takes a list of inputs, and empties it. */
static PyObject *run_tape(PyObject *self, PyObject *inputs) {
    const Tape *tape = (const Tape *)self;
    if (!PyList_CheckExact(inputs) || PyList_Size(inputs) != tape->inputs)
        return PyErr_Format(PyExc_TypeError, "a tape takes a list of %d inputs", (int)tape->inputs);
    PyObject *room[MOST_ON_STACK], **values = room;
    if (tape->dynamic > MOST_ON_STACK && !(values = malloc(sizeof(PyObject *) * (size_t)tape->dynamic))) return PyErr_NoMemory();
    for (int64_t i = 0; i < tape->inputs; i++) {
        values[i] = PyList_GetItem(inputs, i);
        Py_INCREF(values[i]);
    }
    memset(values + tape->inputs, 0, sizeof(PyObject *) * (size_t)(tape->dynamic - tape->inputs));
    Run run = {tape, values};
    Py_INCREF(self);
    PyObject *found = NULL;
    if (!PyList_SetSlice(inputs, 0, tape->inputs, NULL) && performed_all(&run)) found = results_of(&run);
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    for (int64_t i = 0; i < tape->dynamic; i++) Py_XDECREF(values[i]);
    PyErr_Restore(type, error, traceback);
    if (values != room) free(values);
    Py_DECREF(self);
    return found;
}

static PyMethodDef run_definition = {"tape", run_tape, METH_O, NULL};

/* ---- making one */

static bool is_place(const Tape *tape, int32_t place, bool written) {
    int64_t most = tape->dynamic + (written ? 0 : PyTuple_Size(tape->constants));
    return place < most && place >= (written ? -1 : 0);
}

/* Whether all numbers of a tape are within its bounds. */
static bool is_sound(const Tape *tape) {
    Py_ssize_t objects = PyTuple_Size(tape->objects);
    for (const int32_t *next = tape->code; next < tape->end;) {
        if (tape->end - next < HEADER) return false;
        const Instruction *own = (const Instruction *)next;
        const int32_t *places = next + HEADER;
        if (own->inputs < 0 || own->inputs > MOST_ARGUMENTS * 1024 || own->outputs < 0 || own->drops < 0) return false;
        if (tape->end - places < (int64_t)own->inputs + own->outputs + own->drops) return false;
        int32_t listed = own->list_end >= 0 ? own->list_end - own->list_begin : 0;
        if (listed < 0 || own->list_end > own->inputs || (listed && own->list_begin < 0)) return false;
        if (own->inputs - listed + 1 > MOST_ARGUMENTS) return false;
        if (own->function < 0 || own->function >= objects || own->otherwise >= objects || own->names >= objects) return false;
        if (own->names >= 0 && !PyTuple_CheckExact(PyTuple_GetItem(tape->objects, own->names))) return false;
        for (int32_t i = 0; i < own->inputs; i++)
            if (!is_place(tape, places[i], false)) return false;
        for (int32_t i = 0; i < own->outputs + own->drops; i++)
            if (!is_place(tape, places[own->inputs + i], true)) return false;
        next = places + own->inputs + own->outputs + own->drops;
    }
    for (int64_t i = 0; i < tape->results; i++)
        if (!is_place(tape, tape->gives[i], false)) return false;
    return true;
}

/* tape(inputs, dynamic, constants, objects, code, fail): the function that performs a tape. `code` are 32-bit numbers: those of all
 * instructions, then the places of the results, then how many these are. */
PyObject *make_tape(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    if (count != 6 || !PyTuple_CheckExact(args[2]) || !PyTuple_CheckExact(args[3]) || !PyBytes_CheckExact(args[4]))
        return PyErr_Format(PyExc_TypeError, "tape(inputs, dynamic, constants, objects, code, fail)");
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
    PyObject_GC_Track((PyObject *)tape);
    PyObject *made = NULL;
    if (is_sound(tape))
        made = PyCFunction_NewEx(&run_definition, (PyObject *)tape, NULL);
    else
        PyErr_SetString(PyExc_ValueError, "this is no tape");
    Py_DECREF((PyObject *)tape);
    return made;
}

static PyType_Slot tape_slots[] = {
    {Py_tp_dealloc, tape_dealloc}, {Py_tp_traverse, tape_traverse}, {Py_tp_clear, tape_clear}, {0, NULL}};
static PyType_Spec tape_spec = {"actorflow.kernels.native._native.Tape", sizeof(Tape), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, tape_slots};

bool make_tape_type(void) {
    vectorcall = (Vectorcall)dlsym(RTLD_DEFAULT, "PyObject_Vectorcall");
    tape_type = (PyTypeObject *)PyType_FromSpec(&tape_spec);
    return tape_type;
}
