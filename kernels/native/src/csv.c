/* Records of CSV as columns, by RFC 4180 as `actorflow/base/records/csv.py` reads them. What is no such record is left to Python, which
 * says what is wrong. */

enum { MOST_COLUMNS = 4096 };

typedef struct {
    int type;
    void *values;
    Writer *strings; /* instead of values */
    PyArrayObject *fallback; /* of one element, or of none where a field must not be empty */
} Csv_Column;

typedef struct {
    uint8_t between;
    bool quotes;
    const char *missing; /* a field that is empty too */
    int64_t missing_size, count, rows;
    Csv_Column *columns;
    const int64_t *picked; /* the fields that the columns are of; NULL: all */
    char *unescaped;       /* room for a field in quotes */
    int64_t room;
} Csv;

static bool store_field(Csv *csv, int64_t index, int64_t row, const uint8_t *field, int64_t size) {
    Csv_Column *column = csv->columns + index;
    if (size == csv->missing_size && !memcmp(field, csv->missing, (size_t)size)) size = 0;
    double real = 0;
    int64_t whole = 0;
    if (!size) {
        if (!PyArray_SIZE(column->fallback)) return false;
        const void *standard = PyArray_DATA(column->fallback);
        switch (column->type) {
        case NPY_FLOAT32: ((float *)column->values)[row] = *(const float *)standard; return true;
        case NPY_FLOAT64: ((double *)column->values)[row] = *(const double *)standard; return true;
        case NPY_INT32: ((int32_t *)column->values)[row] = *(const int32_t *)standard; return true;
        case NPY_INT64: ((int64_t *)column->values)[row] = *(const int64_t *)standard; return true;
        default: {
            Strings fallback = {.objects = (PyObject **)standard};
            if (column->strings->objects) return put_object(column->strings->objects + row, *(PyObject *const *)standard);
            return bytes_at(&fallback, 0, &field, &size) && put_bytes(column->strings, row, field, size);
        }
        }
    }
    switch (column->type) {
    case NPY_FLOAT32:
        if (!decimal_of(field, size, &real)) return false;
        ((float *)column->values)[row] = (float)real;
        return true;
    case NPY_FLOAT64: return decimal_of(field, size, (double *)column->values + row);
    case NPY_INT32:
        if (!integer_of(field, size, INT32_MAX, &whole)) return false;
        ((int32_t *)column->values)[row] = (int32_t)whole;
        return true;
    case NPY_INT64: return integer_of(field, size, INT64_MAX, (int64_t *)column->values + row);
    default: return put_bytes(column->strings, row, field, size);
    }
}

/* The field in quotes that begins at `*at`, behind its first quote; `*at` becomes the place of what ends it. NULL where it does not end,
 * or something is between the quote and the next field. */
static const uint8_t *quoted_field(Csv *csv, const uint8_t *data, int64_t size, int64_t *at, int64_t *length) {
    if (csv->room < size + 1) {
        char *larger = realloc(csv->unescaped, (size_t)size + 1);
        if (!larger) return PyErr_NoMemory(), NULL;
        csv->unescaped = larger;
        csv->room = size + 1;
    }
    int64_t written = 0;
    for (int64_t i = *at; i < size; i++) {
        if (data[i] != '"') {
            csv->unescaped[written++] = (char)data[i];
            continue;
        }
        if (i + 1 == size || data[i + 1] == csv->between) {
            csv->unescaped[written] = 0;
            *at = i + 1;
            *length = written;
            return (const uint8_t *)csv->unescaped;
        }
        if (data[++i] != '"') return NULL;
        csv->unescaped[written++] = '"';
    }
    return NULL;
}

/* The field that begins at `*at` up to what separates; NULL where a line ends in it, or a quote is there. */
static const uint8_t *plain_field(const Csv *csv, const uint8_t *data, int64_t size, int64_t *at, int64_t *length) {
    int64_t end = *at;
    for (; end < size && data[end] != csv->between; end++)
        if (data[end] == '\n' || data[end] == '\r' || (csv->quotes && data[end] == '"')) return NULL;
    const uint8_t *field = data + *at;
    *length = end - *at;
    *at = end;
    return field;
}

static bool read_record(Csv *csv, int64_t row, const uint8_t *data, int64_t size) {
    int64_t fields = 0, column = 0, length = 0;
    for (int64_t at = 0; at < size || (at == size && size && data[size - 1] == csv->between);) {
        if (at < size && (data[at] == '\n' || data[at] == '\r')) {
            at++;
            continue;
        }
        bool quoted = at < size && csv->quotes && data[at] == '"';
        at += quoted;
        const uint8_t *field = quoted ? quoted_field(csv, data, size, &at, &length) : plain_field(csv, data, size, &at, &length);
        at++;
        if (!field) return false;
        if (!csv->picked ? fields < csv->count : column < csv->count && csv->picked[column] == fields)
            if (!store_field(csv, column++, row, field, length)) return false;
        fields++;
    }
    return column == csv->count && (csv->picked || fields == csv->count);
}

static bool csv_columns(const Call *call, Csv *csv, const Strings *records, PyObject *columns) {
    for (int64_t i = 0; i < csv->count; i++) {
        PyArrayObject *fallback = as_array(PyTuple_GetItem(call->args[4], i));
        if (!fallback || PyArray_SIZE(fallback) > 1) return false;
        int type = PyArray_TYPE(fallback);
        if (type != NPY_FLOAT32 && type != NPY_FLOAT64 && type != NPY_INT32 && type != NPY_INT64 && type != NPY_OBJECT) return false;
        csv->columns[i] = (Csv_Column){.type = type, .fallback = fallback};
        if (type == NPY_OBJECT) {
            Writer *strings = PyMem_Malloc(sizeof(Writer));
            bool packs = packed_type && call->count == 7 && PyTuple_GetItem(call->args[6], i) == Py_True;
            if (!strings || !begin_strings(strings, packs, records->rank, records->sizes, 8 * records->count)) return PyMem_Free(strings), false;
            csv->columns[i].strings = strings;
            continue;
        }
        PyArrayObject *values = fresh(type, records->rank, records->sizes);
        if (!values) return false;
        PyTuple_SetItem(columns, i, (PyObject *)values);
        csv->columns[i].values = PyArray_DATA(values);
    }
    return true;
}

/* Ends the columns of strings; false where some are missing. */
static bool csv_ended(Csv *csv, bool regular, PyObject *columns) {
    for (int64_t i = 0; i < csv->count; i++) {
        Writer *strings = csv->columns[i].strings;
        PyObject *column = strings ? end_strings(strings, regular) : NULL;
        if (strings) regular = column && !PyTuple_SetItem(columns, i, column);
        PyMem_Free(strings);
    }
    return regular;
}

/* csv(records, what is between fields, whether there are quotes, an empty field's text, defaults, numbers of fields or None, which columns
 * are packed): an array for each default. */
static PyObject *k_csv(const Call *call) {
    Strings records;
    if (!has_arguments(call, 6) || !strings_at(call, 0, &records)) return NULL;
    PyArrayObject *picked = typed_at(call, 5, NPY_INT64);
    if ((!picked && call->args[5] != Py_None) || !PyTuple_CheckExact(call->args[4])) return NULL;
    if (!PyBytes_CheckExact(call->args[1]) || PyBytes_Size(call->args[1]) != 1 || !PyBytes_CheckExact(call->args[3])) return NULL;
    Csv csv = {.quotes = call->args[2] == Py_True, .rows = records.count, .count = PyTuple_Size(call->args[4])};
    csv.between = (uint8_t)PyBytes_AsString(call->args[1])[0];
    if (call->count == 7 && (!PyTuple_CheckExact(call->args[6]) || PyTuple_Size(call->args[6]) != csv.count)) return NULL;
    if (csv.between == '"' || csv.between == '\n' || csv.between == '\r' || csv.count > MOST_COLUMNS) return NULL;
    csv.missing = PyBytes_AsString(call->args[3]);
    csv.missing_size = PyBytes_Size(call->args[3]);
    if (picked && (PyArray_NDIM(picked) != 1 || PyArray_SIZE(picked) != csv.count)) return NULL;
    if (picked) csv.picked = PyArray_DATA(picked);
    csv.columns = calloc((size_t)csv.count + 1, sizeof(Csv_Column));
    PyObject *columns = csv.columns ? PyTuple_New(csv.count) : PyErr_NoMemory();
    bool regular = columns && csv_columns(call, &csv, &records, columns);
    const uint8_t *data;
    int64_t size;
    for (int64_t row = 0; regular && row < csv.rows; row++)
        regular = bytes_at(&records, row, &data, &size) && read_record(&csv, row, data, size);
    if (columns) regular = csv_ended(&csv, regular, columns);
    free(csv.columns);
    free(csv.unescaped);
    if (!regular) Py_CLEAR(columns);
    return columns;
}
