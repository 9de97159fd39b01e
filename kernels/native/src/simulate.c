/* The simulated execution of a placed step, event by event. `simulator.py` of the core is the reference, and says what the events
 * mean; here is the same arithmetic in the same order. Events of one time have a total order, so how the heaps lie plays no part.
 */
#include "simulate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CORES = 1 << 20 };
enum { END, HOME, ARRIVAL, READY, DISPATCH }; /* in the order in which those of one time are taken */

typedef struct {
    double time, urgency;
    int32_t kind, node, queue, unused;
} Event;

typedef struct {
    double urgency;
    int32_t node, unused;
} Waiting;

/* The arrays of the model, in the order of the tuple. */
enum {
    SECONDS, BUSY, HOP, RANK, LEAST, FED, OUTPUT,                    /* of each node: doubles */
    SPEED, THREADED, BEGIN, FINISH,                                  /* of each device: doubles */
    LATENCY, PER_BYTE, OVERHEAD,                                     /* of each pair of devices: doubles */
    PORT_BYTES,                                                      /* of each output that is used: doubles */
    GROUP, WAITS, FIRST_PORT, FIRST_INPUT,                           /* of each node, the last two with an end behind: int32 */
    FIRST_USER,                                                      /* of each output that is used, with an end behind: int32 */
    USERS, INPUTS,                                                   /* nodes: int32 */
    LOOP, FIRST_CORE, CORES,                                         /* of each device its loop's queue; of each queue its cores: int32 */
    ARRAYS
};
enum { DOUBLES = GROUP };
enum { BEGUN, ENDED, READY_AT, CAUSE, BEFORE, TIMES };

typedef struct {
    Event *items;
    int64_t count, room;
} Events;

typedef struct {
    Waiting *items;
    int64_t count, room;
} Line;

typedef struct {
    char *bytes;
    size_t size;
    double time;
} Kept;

typedef struct {
    const double *d[DOUBLES];
    const int32_t *n[ARRAYS];
    int64_t nodes, groups, devices, queues, places, ports;
    const int32_t *at;
    double *begun, *ended, *ready;
    int32_t *cause, *before, *where, *waits, *last, *abroad;
    double *free;
    Events events;
    Line *lines;
    Kept *kept;
    int64_t kept_count, kept_room;
    double seconds, limit;
    int64_t final;
    bool failed; /* no memory */
} Run;

/* ---- heaps */

static inline bool sooner(const Event *a, const Event *b) {
    if (a->time != b->time) return a->time < b->time;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->urgency != b->urgency) return a->urgency < b->urgency;
    if (a->node != b->node) return a->node < b->node;
    return a->queue < b->queue;
}

static inline bool goes_first(const Waiting *a, const Waiting *b) {
    return a->urgency != b->urgency ? a->urgency < b->urgency : a->node < b->node;
}

static bool grow(void **items, int64_t *room, int64_t least, size_t size) {
    if (least <= *room) return true;
    int64_t more = *room ? 2 * *room : 64;
    while (more < least) more *= 2;
    void *found = realloc(*items, (size_t)more * size);
    if (!found) return false;
    *items = found;
    *room = more;
    return true;
}

#define HEAP(Item, Heap, push_name, pop_name, is_first)                                  \
    static bool push_name(Heap *heap, Item item) {                                       \
        if (!grow((void **)&heap->items, &heap->room, heap->count + 1, sizeof(Item)))    \
            return false;                                                                \
        int64_t at = heap->count++;                                                      \
        while (at) {                                                                     \
            int64_t above = (at - 1) / 2;                                                \
            if (!is_first(&item, &heap->items[above])) break;                            \
            heap->items[at] = heap->items[above];                                        \
            at = above;                                                                  \
        }                                                                                \
        heap->items[at] = item;                                                          \
        return true;                                                                     \
    }                                                                                    \
    static Item pop_name(Heap *heap) {                                                   \
        Item found = heap->items[0], item = heap->items[--heap->count];                  \
        int64_t at = 0, count = heap->count;                                             \
        for (;;) {                                                                       \
            int64_t below = 2 * at + 1;                                                  \
            if (below >= count) break;                                                   \
            if (below + 1 < count && is_first(&heap->items[below + 1], &heap->items[below])) below++; \
            if (!is_first(&heap->items[below], &item)) break;                            \
            heap->items[at] = heap->items[below];                                        \
            at = below;                                                                  \
        }                                                                                \
        heap->items[at] = item;                                                          \
        return found;                                                                    \
    }

HEAP(Event, Events, push_event, pop_event, sooner)
HEAP(Waiting, Line, push_waiting, pop_waiting, goes_first)

static inline void happens(Run *run, double time, int kind, double urgency, int64_t node, int64_t queue) {
    Event event = {time, urgency, kind, (int32_t)node, (int32_t)queue, 0};
    if (!push_event(&run->events, event)) run->failed = true;
}

/* ---- queues, cores, links */

/* The core of a queue's host that is free at `start` for the shortest time, or else the first one to be free; -1 without cores. */
static inline int64_t core_of(const Run *run, int64_t queue, double start) {
    int64_t first = run->n[FIRST_CORE][queue], count = run->n[CORES][queue];
    if (!count) return -1;
    int64_t found = first;
    double when = run->free[first];
    for (int64_t core = first + 1; core < first + count; core++) {
        double other = run->free[core];
        if (when <= start ? when < other && other <= start : other < when) found = core, when = other;
    }
    return found;
}

/* Takes time of an event loop, and of a core, for one end of a transfer; gives the end of it. */
static inline double looped(Run *run, int64_t queue, double now, double seconds, int64_t node) {
    if (seconds == 0) return now;
    double start = run->free[queue] > now ? run->free[queue] : now;
    int64_t core = core_of(run, queue, start);
    if (core >= 0) {
        if (run->free[core] > start) start = run->free[core];
        run->free[core] = start + seconds;
        run->last[core] = (int32_t)node;
    }
    run->free[queue] = start + seconds;
    run->last[queue] = (int32_t)node;
    return start + seconds;
}

/* Takes time of a link for a transfer; gives the end of it. */
static inline double taken(Run *run, int64_t wire, double now, double seconds, int64_t node) {
    if (seconds == 0) return now;
    double end = (run->free[wire] > now ? run->free[wire] : now) + seconds;
    run->free[wire] = end;
    run->last[wire] = (int32_t)node;
    return end;
}

/* ---- snapshots */

typedef struct {
    double time, seconds;
    int64_t final, events;
} Head;

static size_t snapshot_size(const Run *run, int64_t events, int64_t waiting) {
    return sizeof(Head) + (size_t)run->devices * sizeof(int64_t) + (size_t)events * sizeof(Event) +
           (size_t)waiting * sizeof(Waiting) + (size_t)(run->places + run->nodes) * (sizeof(double) + sizeof(int32_t));
}

static char *put(char *to, const void *from, size_t size) {
    if (size) memcpy(to, from, size);
    return to + size;
}

static const char *get(const char *from, void *to, size_t size) {
    if (size) memcpy(to, from, size);
    return from + size;
}

static void keep(Run *run) {
    int64_t waiting = 0;
    for (int64_t d = 0; d < run->devices; d++) waiting += run->lines[d].count;
    size_t size = snapshot_size(run, run->events.count, waiting);
    char *bytes = malloc(size), *to = bytes;
    if (!bytes || !grow((void **)&run->kept, &run->kept_room, run->kept_count + 1, sizeof(Kept))) {
        free(bytes);
        run->failed = true;
        return;
    }
    Head head = {run->events.items[0].time, run->seconds, run->final, run->events.count};
    to = put(to, &head, sizeof(head));
    for (int64_t d = 0; d < run->devices; d++) to = put(to, &run->lines[d].count, sizeof(int64_t));
    to = put(to, run->events.items, (size_t)run->events.count * sizeof(Event));
    for (int64_t d = 0; d < run->devices; d++)
        to = put(to, run->lines[d].items, (size_t)run->lines[d].count * sizeof(Waiting));
    to = put(to, run->free, (size_t)run->places * sizeof(double));
    to = put(to, run->ready, (size_t)run->nodes * sizeof(double));
    to = put(to, run->last, (size_t)run->places * sizeof(int32_t));
    put(to, run->waits, (size_t)run->nodes * sizeof(int32_t));
    run->kept[run->kept_count++] = (Kept){bytes, size, head.time};
}

/* Goes on from a snapshot, which `keep` has made of a run of the same model. False where it is none, or there is no memory. */
static bool resume(Run *run, const char *from, size_t size) {
    Head head;
    if (size < sizeof(Head) + (size_t)run->devices * sizeof(int64_t)) return false;
    from = get(from, &head, sizeof(head));
    int64_t waiting = 0;
    for (int64_t d = 0; d < run->devices; d++) {
        from = get(from, &run->lines[d].count, sizeof(int64_t));
        waiting += run->lines[d].count;
    }
    if (size != snapshot_size(run, head.events, waiting)) return false;
    run->seconds = head.seconds, run->final = head.final, run->events.count = head.events;
    if (!grow((void **)&run->events.items, &run->events.room, head.events, sizeof(Event))) return false;
    from = get(from, run->events.items, (size_t)head.events * sizeof(Event));
    for (int64_t d = 0; d < run->devices; d++) {
        Line *line = &run->lines[d];
        if (!grow((void **)&line->items, &line->room, line->count, sizeof(Waiting))) return false;
        from = get(from, line->items, (size_t)line->count * sizeof(Waiting));
    }
    from = get(from, run->free, (size_t)run->places * sizeof(double));
    from = get(from, run->ready, (size_t)run->nodes * sizeof(double));
    from = get(from, run->last, (size_t)run->places * sizeof(int32_t));
    get(from, run->waits, (size_t)run->nodes * sizeof(int32_t));
    return true;
}

/* ---- the simulation */

/* The events of nodes that wait for nothing, or for feeds, which the client brings to each device. */
static void begin_step(Run *run) {
    memcpy(run->waits, run->n[WAITS], (size_t)run->nodes * sizeof(int32_t));
    for (int64_t i = 0; i < run->places; i++) run->free[i] = 0.0, run->last[i] = -1;
    for (int64_t i = 0; i < run->nodes; i++) {
        int32_t device = run->where[i];
        double latency = run->d[BEGIN][device], per_byte = run->d[PER_BYTE][device];
        int32_t first = run->n[FIRST_INPUT][i], end = run->n[FIRST_INPUT][i + 1];
        run->ready[i] = first == end ? latency + run->d[FED][i] * per_byte : 0.0;
        run->begun[i] = run->ended[i] = 0.0;
        run->cause[i] = run->before[i] = -1;
        for (int32_t k = first; k < end; k++) {
            int32_t source = run->n[INPUTS][k];
            if (run->d[FED][source] == 0) continue;
            double there = latency + run->d[FED][source] * per_byte;
            if (there > run->ready[i]) run->ready[i] = there;
            run->cause[i] = source;
            run->waits[i]--;
        }
        if (!run->waits[i]) happens(run, run->ready[i], READY, -run->d[RANK][i], i, -1);
    }
    run->seconds = 0.0, run->final = -1;
}

static inline void has_output(Run *run, int32_t user, double there, int64_t node) {
    if (there > run->ready[user] || run->cause[user] < 0) {
        if (there > run->ready[user]) run->ready[user] = there;
        run->cause[user] = (int32_t)node;
    }
    if (!--run->waits[user]) happens(run, run->ready[user], READY, -run->d[RANK][user], user, -1);
}

/* A node's outputs go to their users: at once on its device, and once to each other one. */
static void hand_on(Run *run, int64_t node, double now) {
    int64_t device = run->where[node], devices = run->devices;
    double urgency = -run->d[RANK][node];
    int32_t first = run->n[FIRST_PORT][node], end = run->n[FIRST_PORT][node + 1];
    if (first == end) {
        if (device && run->d[OUTPUT][node] != 0) {
            int64_t pair = device * devices;
            double sent = looped(run, run->n[LOOP][device], now, run->d[OVERHEAD][pair], node);
            sent = taken(run, run->queues + pair, sent, run->d[OUTPUT][node] * run->d[PER_BYTE][pair], node);
            double word = sent + run->d[FINISH][device] - run->d[FINISH][0];
            happens(run, word > sent ? word : sent, ARRIVAL, urgency, node, 0);
        } else if (now + run->d[FINISH][device] > run->seconds)
            run->seconds = now + run->d[FINISH][device], run->final = node;
        return;
    }
    if (run->d[FED][node] != 0) return;
    for (int32_t port = first; port < end; port++) {
        int64_t abroad = 0;
        for (int32_t k = run->n[FIRST_USER][port]; k < run->n[FIRST_USER][port + 1]; k++) {
            int32_t user = run->n[USERS][k], there = run->where[user];
            if (there == device) {
                has_output(run, user, now, node);
                continue;
            }
            int64_t other = 0;
            while (other < abroad && run->abroad[other] != there) other++;
            if (other == abroad) run->abroad[abroad++] = there;
        }
        for (int64_t other = 0; other < abroad; other++) {
            int64_t there = run->abroad[other], pair = device * devices + there;
            double sent = looped(run, run->n[LOOP][device], now, run->d[OVERHEAD][pair], node);
            sent = taken(run, run->queues + pair, sent, run->d[PORT_BYTES][port] * run->d[PER_BYTE][pair], node);
            happens(run, sent + run->d[LATENCY][pair], ARRIVAL, urgency, node, (port - first) * devices + there);
        }
    }
}

static void arrive(Run *run, const Event *event) {
    int64_t node = event->node, port = event->queue / run->devices, device = event->queue % run->devices;
    int32_t first = run->n[FIRST_PORT][node], end = run->n[FIRST_PORT][node + 1];
    double overhead = run->d[OVERHEAD][run->where[node] * run->devices + device];
    double there = looped(run, run->n[LOOP][device], event->time, overhead, node);
    if (first + port == end) { /* the client's */
        if (there + run->d[FINISH][0] > run->seconds) run->seconds = there + run->d[FINISH][0], run->final = node;
        return;
    }
    for (int32_t k = run->n[FIRST_USER][first + port]; k < run->n[FIRST_USER][first + port + 1]; k++)
        if (run->where[run->n[USERS][k]] == device) has_output(run, run->n[USERS][k], there, node);
}

/* All events. False where the step takes `limit` or more. */
static bool simulated(Run *run, int64_t every) {
    int64_t taken_events = 0, due = every;
    double now = -1.0;
    while (run->events.count && !run->failed) {
        if (every && taken_events >= due && run->events.items[0].time > now) {
            due = taken_events + every;
            keep(run);
        }
        Event event = pop_event(&run->events);
        int64_t i = event.node, q = event.queue;
        now = event.time;
        taken_events++;
        switch (event.kind) {
        case READY: {
            int64_t device = run->where[i];
            double took = run->d[SECONDS][i] / run->d[SPEED][device];
            if (took >= run->d[THREADED][device]) {
                Waiting waiting = {-run->d[RANK][i], (int32_t)i, 0};
                if (!push_waiting(&run->lines[device], waiting)) run->failed = true;
                if (run->free[device] <= now) happens(run, now, DISPATCH, 0.0, -1, device);
                continue;
            }
            int64_t loop = run->n[LOOP][device];
            double start = took != 0 && run->free[loop] > now ? run->free[loop] : now;
            run->before[i] = start > now ? run->last[loop] : -1;
            int64_t core = took != 0 ? core_of(run, loop, start) : -1;
            if (core >= 0) {
                if (run->free[core] > start) start = run->free[core], run->before[i] = run->last[core];
                run->free[core] = start + took;
                run->last[core] = (int32_t)i;
            }
            if (start + run->d[LEAST][i] >= run->limit) return false;
            run->begun[i] = start;
            if (took != 0) {
                run->free[loop] = start + took;
                run->last[loop] = (int32_t)i;
                happens(run, start + took, END, event.urgency, i, -1);
                continue;
            }
            run->ended[i] = now;
            break;
        }
        case DISPATCH: {
            if (run->free[q] > now || !run->lines[q].count) continue;
            i = pop_waiting(&run->lines[q]).node;
            double start = now;
            run->before[i] = now > run->ready[i] ? run->last[q] : -1;
            if (now == run->ready[i]) start += run->d[HOP][i]; /* the thread was at rest */
            int64_t core = run->d[BUSY][i] != 0 ? core_of(run, q, start) : -1;
            if (core >= 0) {
                if (run->free[core] > start) start = run->free[core], run->before[i] = run->last[core];
                run->free[core] = start + run->d[BUSY][i] / run->d[SPEED][q];
                run->last[core] = (int32_t)i;
            }
            if (start + run->d[LEAST][i] >= run->limit) return false;
            run->begun[i] = start;
            run->last[q] = (int32_t)i;
            run->free[q] = start + run->d[SECONDS][i] / run->d[SPEED][q];
            happens(run, run->free[q], END, -run->d[RANK][i], i, q);
            continue;
        }
        case ARRIVAL:
            arrive(run, &event);
            continue;
        case END:
            run->ended[i] = now;
            if (q >= 0) {
                if (run->lines[q].count) happens(run, now, DISPATCH, 0.0, -1, q);
                if (run->d[HOP][i] != 0) {
                    happens(run, now + run->d[HOP][i], HOME, event.urgency, i, -1);
                    continue;
                }
            }
            break;
        default: /* HOME */
            break;
        }
        hand_on(run, i, now);
    }
    return run->seconds < run->limit;
}

/* ---- from Python and back */

static bool all_below(const int32_t *numbers, int64_t count, int64_t end) {
    bool found = true;
    for (int64_t k = 0; k < count; k++) found &= numbers[k] >= 0 && numbers[k] < end;
    return found;
}

static bool is_division(const int32_t *firsts, int64_t count, int64_t of) {
    bool found = firsts[0] == 0 && firsts[count] == of;
    for (int64_t k = 0; k < count; k++) found &= firsts[k] <= firsts[k + 1];
    return found;
}

/* Whether all numbers lead to something that is there: a model may come from a file. */
static bool is_sound(Run *run, const int64_t counts[ARRAYS], const int64_t times[TIMES]) {
    int64_t n = run->nodes = counts[SECONDS], d = run->devices = counts[SPEED];
    int64_t ports = run->ports = counts[PORT_BYTES], queues = run->queues = counts[FIRST_CORE];
    if (!d || queues < d) return false;
    for (int k = BUSY; k <= OUTPUT; k++)
        if (counts[k] != n) return false;
    for (int k = THREADED; k <= FINISH; k++)
        if (counts[k] != d) return false;
    for (int k = LATENCY; k <= OVERHEAD; k++)
        if (counts[k] != d * d) return false;
    for (int k = 0; k < TIMES; k++)
        if (times[k] != n) return false;
    if (counts[GROUP] != n || counts[WAITS] != n || counts[FIRST_PORT] != n + 1 || counts[FIRST_INPUT] != n + 1 ||
        counts[FIRST_USER] != ports + 1 || counts[LOOP] != d || counts[CORES] != queues)
        return false;
    if (!all_below(run->n[GROUP], n, run->groups) || !all_below(run->n[USERS], counts[USERS], n) ||
        !all_below(run->n[INPUTS], counts[INPUTS], n) || !all_below(run->n[LOOP], d, queues) ||
        !all_below(run->at, run->groups, d) || !is_division(run->n[FIRST_PORT], n, ports) ||
        !is_division(run->n[FIRST_INPUT], n, counts[INPUTS]) || !is_division(run->n[FIRST_USER], ports, counts[USERS]))
        return false;
    run->places = queues + d * d;
    for (int64_t q = 0; q < queues; q++) {
        int64_t first = run->n[FIRST_CORE][q], cores = run->n[CORES][q];
        if (cores < 0 || cores > MOST_CORES || first < queues + d * d || first > queues + d * d + MOST_CORES) return false;
        if (first + cores > run->places) run->places = first + cores;
    }
    return n < INT32_MAX / 2 && d * d < INT32_MAX / 2 && run->places < INT32_MAX / 2;
}

static bool prepare(Run *run) {
    size_t nodes = (size_t)run->nodes + 1, places = (size_t)run->places;
    run->where = malloc(nodes * sizeof(int32_t));
    run->waits = malloc(nodes * sizeof(int32_t));
    run->abroad = malloc((size_t)run->devices * sizeof(int32_t));
    run->last = malloc(places * sizeof(int32_t));
    run->free = malloc(places * sizeof(double));
    run->lines = calloc((size_t)run->devices, sizeof(Line));
    if (!run->where || !run->waits || !run->abroad || !run->last || !run->free || !run->lines) return false;
    for (int64_t i = 0; i < run->nodes; i++) run->where[i] = run->at[run->n[GROUP][i]];
    return true;
}

static void dispose(Run *run) {
    for (int64_t d = 0; run->lines && d < run->devices; d++) free(run->lines[d].items);
    for (int64_t k = 0; k < run->kept_count; k++) free(run->kept[k].bytes);
    free(run->where), free(run->waits), free(run->abroad), free(run->last), free(run->free), free(run->lines);
    free(run->events.items), free(run->kept);
}

static PyObject *result_of(const Run *run) {
    PyObject *kept = PyList_New(run->kept_count);
    for (int64_t k = 0; kept && k < run->kept_count; k++) {
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)run->kept[k].bytes, (Py_ssize_t)run->kept[k].size);
        PyObject *one = bytes ? Py_BuildValue("(dN)", run->kept[k].time, bytes) : NULL;
        if (!one || PyList_SetItem(kept, k, one)) Py_CLEAR(kept);
    }
    if (!kept) return NULL;
    PyObject *found = Py_BuildValue("(dLO)", run->seconds, (long long)run->final, kept);
    Py_DECREF(kept);
    return found;
}

PyObject *simulate(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    (void)self;
    enum { VIEWS = ARRAYS + TIMES + 2 };
    Py_buffer views[VIEWS];
    int64_t counts[ARRAYS], times[TIMES];
    PyObject *found = NULL;
    Py_ssize_t held = 0;
    Run run = {0};
    if (count != 6 || !PyTuple_Check(args[0]) || PyTuple_Size(args[0]) != ARRAYS || !PyTuple_Check(args[2]) ||
        PyTuple_Size(args[2]) != TIMES)
        return PyErr_Format(PyExc_TypeError, "simulate(model, at, times, snapshot, limit, every)");
    run.limit = PyFloat_AsDouble(args[4]);
    int64_t every = PyLong_AsLongLong(args[5]);
    if (PyErr_Occurred()) return NULL;
    for (int k = 0; k < ARRAYS; k++, held++) {
        if (PyObject_GetBuffer(PyTuple_GetItem(args[0], k), &views[held], PyBUF_SIMPLE)) goto done;
        counts[k] = views[held].len / (Py_ssize_t)(k < DOUBLES ? sizeof(double) : sizeof(int32_t));
        if (k < DOUBLES)
            run.d[k] = views[held].buf;
        else
            run.n[k] = views[held].buf;
    }
    void *written[TIMES];
    for (int k = 0; k < TIMES; k++, held++) {
        if (PyObject_GetBuffer(PyTuple_GetItem(args[2], k), &views[held], PyBUF_WRITABLE)) goto done;
        times[k] = views[held].len / (Py_ssize_t)(k < CAUSE ? sizeof(double) : sizeof(int32_t));
        written[k] = views[held].buf;
    }
    run.begun = written[BEGUN], run.ended = written[ENDED], run.ready = written[READY_AT];
    run.cause = written[CAUSE], run.before = written[BEFORE];
    if (PyObject_GetBuffer(args[1], &views[held], PyBUF_SIMPLE)) goto done;
    run.at = views[held].buf;
    run.groups = views[held++].len / (Py_ssize_t)sizeof(int32_t);
    const char *from = NULL;
    size_t size = 0;
    if (args[3] != Py_None) {
        if (PyObject_GetBuffer(args[3], &views[held], PyBUF_SIMPLE)) goto done;
        from = views[held].buf, size = (size_t)views[held++].len;
    }
    if (!is_sound(&run, counts, times)) {
        PyErr_SetString(PyExc_ValueError, "the arrays of a simulated step do not fit together");
        goto done;
    }
    bool is_in_time = false, is_resumed = true;
    Py_BEGIN_ALLOW_THREADS
    if (!prepare(&run))
        run.failed = true;
    else if (from)
        is_resumed = resume(&run, from, size);
    else
        begin_step(&run);
    if (!run.failed && is_resumed) is_in_time = simulated(&run, every);
    Py_END_ALLOW_THREADS
    if (run.failed)
        PyErr_NoMemory();
    else if (!is_resumed)
        PyErr_SetString(PyExc_ValueError, "this is no snapshot of such a step");
    else if (is_in_time)
        found = result_of(&run);
    else {
        Py_INCREF(Py_None);
        found = Py_None;
    }
    dispose(&run);
done:
    while (held) PyBuffer_Release(&views[--held]);
    return found;
}
