/* Distinct strings, and keys that are looked up: tables of open addresses. */

typedef struct {
    uint64_t hash;
    int64_t number; /* 1 + the number of the key; 0: nothing is here */
} Slot;

static int64_t slots_for(int64_t keys) {
    int64_t slots = 16;
    while (slots < 2 * keys) slots *= 2;
    return slots;
}

/* Each bit of the key reaches the low bits, which choose the slot: ids are often multiples of a power of two. */
static inline uint64_t hash_of_whole(int64_t key) {
    uint64_t hash = (uint64_t)key;
    hash = (hash ^ hash >> 33) * 0xFF51AFD7ED558CCDu;
    hash = (hash ^ hash >> 33) * 0xC4CEB9FE1A85EC53u;
    return hash ^ hash >> 33;
}

static inline bool is_string(const Strings *keys, int64_t number, const uint8_t *data, int64_t size) {
    const uint8_t *other;
    int64_t other_size;
    return bytes_at(keys, number, &other, &other_size) && other_size == size && !memcmp(other, data, (size_t)size);
}

/* The slot of a string, or the free one where it would be. */
static inline Slot *slot_of_string(Slot *slots, int64_t mask, const Strings *keys, uint64_t hash, const uint8_t *data, int64_t size) {
    for (uint64_t at = hash;; at++) {
        Slot *slot = slots + (at & (uint64_t)mask);
        if (!slot->number || (slot->hash == hash && is_string(keys, slot->number - 1, data, size))) return slot;
    }
}

static inline Slot *slot_of_whole(Slot *slots, int64_t mask, const int64_t *keys, uint64_t hash, int64_t key) {
    for (uint64_t at = hash;; at++) {
        Slot *slot = slots + (at & (uint64_t)mask);
        if (!slot->number || keys[slot->number - 1] == key) return slot;
    }
}

/* unique(strings, wide, packs): as of numbers. */
static PyObject *unique_strings(const Call *call) {
    Strings x;
    if (!strings_at(call, 0, &x) || x.rank != 1) return NULL;
    int kind = call->args[1] == Py_True ? NPY_INT64 : NPY_INT32;
    npy_intp count = x.count, distinct = 0, size;
    int64_t room = slots_for(count);
    Slot *slots = PyMem_Calloc((size_t)room, sizeof(Slot));
    int64_t *first = PyMem_Malloc(((size_t)count + 1) * sizeof(int64_t)), *times = PyMem_Calloc((size_t)count + 1, sizeof(int64_t));
    PyArrayObject *which = slots && first && times ? fresh(kind, 1, &count) : NULL, *counts = NULL;
    bool strings = which;
    const uint8_t *data;
    for (int64_t i = 0; strings && i < count && (strings = bytes_at(&x, i, &data, &size)); i++) {
        uint64_t hash = fingerprint(data, size);
        Slot *slot = slot_of_string(slots, room - 1, &x, hash, data, size);
        /* the number of a slot is that of the element, so that its string is at hand */
        if (!slot->number) {
            *slot = (Slot){hash, i + 1};
            first[distinct] = i;
            times[i] = distinct++;
        }
        int64_t number = times[slot->number - 1];
        if (kind == NPY_INT64) ((int64_t *)PyArray_DATA(which))[i] = number;
        else ((int32_t *)PyArray_DATA(which))[i] = (int32_t)number;
    }
    Writer texts = {0};
    strings = strings && begin_parts(&texts, packs_at(call, 2), &x, 1, &distinct, 0);
    for (int64_t i = 0; strings && i < distinct; i++)
        strings = bytes_at(&x, first[i], &data, &size) && put_part(&texts, i, &x, first[i], data, size, 0, size);
    PyObject *values = end_strings(&texts, strings);
    if (values) counts = (PyArrayObject *)PyArray_ZEROS(1, &distinct, kind, 0);
    PyObject *triple = counts ? PyTuple_New(3) : NULL;
    if (triple) {
        for (int64_t i = 0; i < count; i++)
            if (kind == NPY_INT64) ((int64_t *)PyArray_DATA(counts))[((int64_t *)PyArray_DATA(which))[i]]++;
            else ((int32_t *)PyArray_DATA(counts))[((int32_t *)PyArray_DATA(which))[i]]++;
        PyTuple_SetItem(triple, 0, values);
        PyTuple_SetItem(triple, 1, (PyObject *)which);
        PyTuple_SetItem(triple, 2, (PyObject *)counts);
    } else {
        Py_XDECREF(values);
        Py_XDECREF((PyObject *)which);
        Py_XDECREF((PyObject *)counts);
    }
    PyMem_Free(slots);
    PyMem_Free(first);
    PyMem_Free(times);
    return triple;
}

/* indexed(keys): the table of keys that are distinct strings or numbers of 64 bits. `looked_up` takes it and the keys. */
static PyObject *k_indexed(const Call *call) {
    Strings texts;
    PyArrayObject *keys = array_at(call, 0);
    bool strings = strings_at(call, 0, &texts);
    if (call->count != 1 || (strings ? texts.rank != 1 : !keys || PyArray_NDIM(keys) != 1 || PyArray_TYPE(keys) != NPY_INT64)) return NULL;
    int64_t count = strings ? texts.count : PyArray_SIZE(keys), size = 0;
    npy_intp sizes[2] = {slots_for(count), 2};
    PyArrayObject *table = (PyArrayObject *)PyArray_ZEROS(2, sizes, NPY_INT64, 0);
    Slot *slots = table ? PyArray_DATA(table) : NULL;
    const uint8_t *data = NULL;
    for (int64_t i = 0; table && i < count; i++) {
        bool known = !strings || bytes_at(&texts, i, &data, &size);
        if (!known) Py_CLEAR(table);
        if (!known) break;
        uint64_t hash = strings ? fingerprint(data, size) : hash_of_whole(((const int64_t *)PyArray_DATA(keys))[i]);
        Slot *slot = strings ? slot_of_string(slots, sizes[0] - 1, &texts, hash, data, size)
                             : slot_of_whole(slots, sizes[0] - 1, PyArray_DATA(keys), hash, ((const int64_t *)PyArray_DATA(keys))[i]);
        *slot = (Slot){hash, i + 1};
    }
    return (PyObject *)table;
}

/* What is looked up: keys as 64-bit numbers, and what lies at the place of each. */
typedef struct {
    Slot *slots;
    int64_t mask, count;
    const int64_t *stored, *keys;
    const char *values, *fallback;
    char *out;
    int64_t item, step; /* bytes of a value; 0 where all have one fallback, else as `item` */
    bool objects;
} Lookup;

static inline void put_value(const Lookup *l, int64_t i, const Slot *slot) {
    const char *value = slot->number ? l->values + (slot->number - 1) * l->item : l->fallback + i * l->step;
    if (l->objects) put_object((PyObject **)l->out + i, *(PyObject *const *)value);
    else if (l->item == 8) memcpy(l->out + 8 * i, value, 8);
    else if (l->item == 4) memcpy(l->out + 4 * i, value, 4);
    else if (l->item == 16) memcpy(l->out + 16 * i, value, 16);
    else memcpy(l->out + l->item * i, value, (size_t)l->item);
}

static void look_up_numbers(int64_t begin, int64_t count, const void *given) {
    const Lookup *l = given;
    for (int64_t i = begin; i < begin + count; i++) {
        int64_t key = l->keys[i];
        put_value(l, i, slot_of_whole(l->slots, l->mask, l->stored, hash_of_whole(key), key));
    }
}

/* looked_up(table, its keys, its values, keys, fallback): the value of each key, or the fallback, which is a single one or the key's own. */
static PyObject *k_looked_up(const Call *call) {
    Strings stored, keys;
    PyArrayObject *table = typed_at(call, 0, NPY_INT64), *numbers = typed_at(call, 1, NPY_INT64), *values = array_at(call, 2);
    PyArrayObject *wanted = typed_at(call, 3, NPY_INT64), *fallback = array_at(call, 4);
    bool strings = strings_at(call, 1, &stored) && strings_at(call, 3, &keys);
    if (call->count != 5 || !table || !values || !fallback || (!strings && (!numbers || !wanted || !PyArray_NDIM(wanted)))) return NULL;
    int type = PyArray_TYPE(values), rank = strings ? keys.rank : PyArray_NDIM(wanted);
    const npy_intp *sizes = strings ? keys.sizes : PyArray_DIMS(wanted);
    if (PyArray_TYPE(fallback) != type || PyArray_NDIM(values) != 1 || PyArray_SIZE(values) != (strings ? stored.count : PyArray_SIZE(numbers))) return NULL;
    if (PyArray_NDIM(fallback) && !same_sizes(rank, sizes, PyArray_NDIM(fallback), PyArray_DIMS(fallback))) return NULL;
    PyArrayObject *out = fresh(type, rank, sizes);
    if (!out) return NULL;
    Lookup l = {.slots = PyArray_DATA(table), .mask = PyArray_DIM(table, 0) - 1, .count = PyArray_SIZE(out)};
    l.values = PyArray_DATA(values);
    l.fallback = PyArray_DATA(fallback);
    l.out = PyArray_DATA(out);
    l.item = PyArray_ITEMSIZE(values);
    l.step = PyArray_NDIM(fallback) ? l.item : 0;
    l.objects = type == NPY_OBJECT;
    if (!strings) {
        Call alone = *call;
        alone.threads = 1;
        l.stored = PyArray_DATA(numbers);
        l.keys = PyArray_DATA(wanted);
        if (l.objects) look_up_numbers(0, l.count, &l);
        else work_through(&alone, look_up_numbers, &l, l.count, l.count, 8 * l.count);
        return (PyObject *)out;
    }
    const uint8_t *data;
    for (int64_t i = 0, size; i < l.count; i++) {
        if (!bytes_at(&keys, i, &data, &size)) {
            Py_DECREF((PyObject *)out);
            return NULL;
        }
        put_value(&l, i, slot_of_string(l.slots, l.mask, &stored, fingerprint(data, size), data, size));
    }
    return (PyObject *)out;
}
