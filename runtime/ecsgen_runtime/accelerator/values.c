#include "values.h"

/* Half a step over the largest finite float of 32 bits: from here on, rounding makes infinity. */
static const double FLOAT_LIMIT = 0x1.ffffffp127;

/* Up to here every integer is a float of 64 bits. */
#define EXACT ((long long)1 << 53)

static int
float_to_cell(int kind, PyObject *value, char *cell)
{
    double number;
    if (PyFloat_CheckExact(value)) {
        number = PyFloat_AS_DOUBLE(value);
        double limit = kind == 'f' ? FLOAT_LIMIT : Py_HUGE_VAL;
        if (!(-limit < number && number < limit)) {
            return 0;
        }
    }
    else if (PyLong_CheckExact(value)) {
        int overflow;
        long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow || whole < -EXACT || whole > EXACT) {
            return 0;
        }
        number = (double)whole;
    }
    else {
        return 0;
    }
    if (kind == 'f') {
        float narrow = (float)number;
        memcpy(cell, &narrow, sizeof narrow);
    }
    else {
        memcpy(cell, &number, sizeof number);
    }
    return 1;
}

static void
put_number(char *cell, int size, uint64_t bits)
{
    uint8_t one = (uint8_t)bits;
    uint16_t two = (uint16_t)bits;
    switch (size) {
    case 1:
        memcpy(cell, &one, 1);
        break;
    case 2:
        memcpy(cell, &two, 2);
        break;
    case 4:
        put_u32(cell, bits);
        break;
    default:
        put_u64(cell, bits);
    }
}

static int
signed_to_cell(int size, PyObject *value, char *cell)
{
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    long long high = INT64_MAX >> (64 - 8 * size);
    if (overflow || number > high || number < -high - 1) {
        return 0;
    }
    put_number(cell, size, (uint64_t)number);
    return 1;
}

static int
unsigned_to_cell(int size, PyObject *value, char *cell)
{
    uint64_t number;
    if (!is_number(value, &number) || number > UINT64_MAX >> (64 - 8 * size)) {
        return 0;
    }
    put_number(cell, size, number);
    return 1;
}

/* A member or its number. Members hash by their names, so the number is asked for. */
static int
member_to_cell(const Field *field, PyObject *value, char *cell)
{
    uint64_t number;
    if (Py_TYPE(value) != (PyTypeObject *)field->kind_of && !PyLong_CheckExact(value)) {
        return 0;
    }
    if (!PyLong_Check(value) || !to_u64(value, &number)) {
        return 0;
    }
    PyObject *key = PyLong_FromUnsignedLongLong(number);
    int is_member = key == NULL ? -1 : PySet_Contains(field->numbers, key);
    Py_XDECREF(key);
    if (is_member <= 0) {
        PyErr_Clear(); /* Python says what is wrong, or finds the bits of several flags right */
        return 0;
    }
    put_number(cell, field->size, number);
    return 1;
}

static int
put_bytes(const Field *field, const char *bytes, Py_ssize_t size, char *cell)
{
    if (size > field->nbytes) {
        return 0;
    }
    memset(cell, 0, (size_t)field->nbytes);
    memcpy(cell, bytes, (size_t)size);
    return 1;
}

static int
text_to_cell(const Field *field, PyObject *value, char *cell)
{
    if (!PyUnicode_CheckExact(value)) {
        return 0;
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == NULL) {
        PyErr_Clear(); /* lone surrogates */
        return 0;
    }
    return memchr(text, 0, (size_t)size) == NULL && put_bytes(field, text, size, cell);
}

static int
element_to_cell(const Field *field, PyObject *value, char *cell)
{
    if (field->members != NULL) {
        return member_to_cell(field, value, cell);
    }
    switch (field->kind) {
    case 'f':
    case 'd':
        return float_to_cell(field->kind, value, cell);
    case 'i':
        return signed_to_cell(field->size, value, cell);
    case 'u':
        return unsigned_to_cell(field->size, value, cell);
    case '?':
        cell[0] = value == Py_True;
        return value == Py_True || value == Py_False;
    case 's':
        return text_to_cell(field, value, cell);
    case 'S':
        return PyBytes_CheckExact(value) &&
               put_bytes(field, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value), cell);
    default:
        return 0;
    }
}

int
value_to_cell(const Field *field, PyObject *value, char *cell)
{
    if (field->count == 0) {
        return element_to_cell(field, value, cell);
    }
    if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value)) {
        return 0;
    }
    if (PySequence_Fast_GET_SIZE(value) != field->count) {
        return 0;
    }
    PyObject **elements = PySequence_Fast_ITEMS(value); /* nothing below runs Python code */
    for (int i = 0; i < field->count; i++) {
        if (!element_to_cell(field, elements[i], cell + i * field->size)) {
            return 0;
        }
    }
    return 1;
}

/* Read the bits of a whole number. */
static uint64_t
get_number(const char *cell, int size)
{
    uint16_t two;
    switch (size) {
    case 1:
        return (unsigned char)cell[0];
    case 2:
        memcpy(&two, cell, 2);
        return two;
    case 4:
        return get_u32(cell);
    default:
        return get_u64(cell);
    }
}

static PyObject *
signed_to_value(int size, const char *cell)
{
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    return PyLong_FromLongLong((int64_t)((get_number(cell, size) ^ sign) - sign));
}

static PyObject *
cell_to_member(const Field *field, const char *cell)
{
    PyObject *number = PyLong_FromUnsignedLongLong(get_number(cell, field->size));
    if (number == NULL) {
        return NULL;
    }
    PyObject *member = PyDict_GetItemWithError(field->members, number);
    Py_DECREF(number);
    return Py_XNewRef(member); /* flags that were never seen together are left to Python */
}

static PyObject *
cell_to_text(const Field *field, const char *cell)
{
    Py_ssize_t size = field->nbytes;
    while (size > 0 && cell[size - 1] == 0) {
        size--;
    }
    PyObject *text = PyUnicode_DecodeUTF8(cell, size, "strict");
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        PyErr_Clear(); /* a raw write left other bytes in the column; Python raises */
    }
    return text;
}

static inline double
get_float(const Field *field, const char *cell)
{
    float narrow;
    double wide;
    if (field->kind == 'd') {
        memcpy(&wide, cell, sizeof wide);
        return wide;
    }
    memcpy(&narrow, cell, sizeof narrow);
    return narrow;
}

static PyObject *
cell_to_element(const Field *field, const char *cell)
{
    if (field->members != NULL) {
        return cell_to_member(field, cell);
    }
    switch (field->kind) {
    case 'f':
    case 'd':
        return PyFloat_FromDouble(get_float(field, cell));
    case 'i':
        return signed_to_value(field->size, cell);
    case 'u':
        return PyLong_FromUnsignedLongLong(get_number(cell, field->size));
    case '?':
        return PyBool_FromLong(cell[0] != 0);
    case 's':
        return cell_to_text(field, cell);
    case 'S':
        return PyBytes_FromStringAndSize(cell, field->nbytes);
    default:
        return NULL;
    }
}

/* Put the floats of a cell into a tuple that has no other reference. */
static PyObject *
refill(PyObject *tuple, const Field *field, const char *cell)
{
    for (Py_ssize_t i = 0; i < field->count; i++) {
        PyObject *old = PyTuple_GET_ITEM(tuple, i);
        double number = get_float(field, cell + i * field->size);
        if (Py_REFCNT(old) == 1) {
            ((PyFloatObject *)old)->ob_fval = number;
            continue;
        }
        PyObject *element = PyFloat_FromDouble(number);
        if (element == NULL) {
            return NULL;
        }
        PyTuple_SET_ITEM(tuple, i, element);
        Py_DECREF(old);
    }
    return Py_NewRef(tuple);
}

static PyObject *
cell_to_tuple(const Field *field, const char *cell)
{
    PyObject *tuple = PyTuple_New(field->count); /* finalizers may run */
    for (Py_ssize_t i = 0; tuple != NULL && i < field->count; i++) {
        PyObject *element = cell_to_element(field, cell + i * field->size);
        if (element == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, element);
    }
    return tuple;
}

/* Vectors of floats are what most fields are, and most are taken apart at once. So the last tuple
   is kept: as with zip(), it is given out again when nobody else has it. */
PyObject *
cell_to_value(Field *field, const char *cell)
{
    if (field->count == 0) {
        return cell_to_element(field, cell);
    }
    if (field->kind != 'f' && field->kind != 'd') {
        return cell_to_tuple(field, cell);
    }
    if (field->given != NULL && Py_REFCNT(field->given) == 1) {
        return refill(field->given, field, cell);
    }
    PyObject *tuple = cell_to_tuple(field, cell);
    if (tuple != NULL) {
        Py_XSETREF(field->given, Py_NewRef(tuple));
    }
    return tuple;
}
