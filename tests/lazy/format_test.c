/* format_test.c: texts of arrays against NumPy's (format_golden.h), conversions of single elements, growing texts. */
#include "lazy/graph/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden {
    int dtype, ndim;
    int64_t shape[NEAP_MAX_DIMS];
    const void *data; /* NULL: the ramp start + i·step */
    double start, step;
    const char *text;
} golden;

#include "format_golden.h"

static int checks, failures;

static void check(int condition, const char *what, const char *got, const char *expected) {
    checks++;
    if (condition)
        return;
    failures++;
    printf("FAIL %s\n--- got\n%s\n--- expected\n%s\n", what, got ? got : "(nothing)", expected);
}

static void check_text(const char *what, int status, lazy_text *text, const char *expected) {
    if (status != NEAP_OK) {
        check(0, what, neap_error_text(), expected);
    } else {
        check(text->bytes == strlen(expected) && memcmp(text->data, expected, text->bytes) == 0, what, text->data,
              expected);
    }
    graph_text_free(text);
}

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

static void element_set(int dtype, unsigned char *data, int64_t i, double value) {
    unsigned char *at = data + i * neap_dtype_bytes(dtype);
    switch (dtype) {
    case NEAP_DTYPE_F64:
        memcpy(at, &value, sizeof value);
        break;
    case NEAP_DTYPE_F32:
        memcpy(at, &(float){(float)value}, sizeof(float));
        break;
    case NEAP_DTYPE_I64:
        memcpy(at, &(int64_t){(int64_t)value}, sizeof(int64_t));
        break;
    case NEAP_DTYPE_U32:
        memcpy(at, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
        break;
    case NEAP_DTYPE_I32:
        memcpy(at, &(int32_t){(int32_t)value}, sizeof(int32_t));
        break;
    case NEAP_DTYPE_U8:
        *at = (unsigned char)(int64_t)value;
        break;
    default:
        *at = (int64_t)value & 1;
        break;
    }
}

static void test_goldens(void) {
    for (size_t k = 0; k < sizeof goldens / sizeof goldens[0]; k++) {
        const golden *g = &goldens[k];
        const void *data = g->data;
        unsigned char *ramp = NULL;
        if (data == NULL) {
            int64_t size = 1;
            for (int axis = 0; axis < g->ndim; axis++)
                size *= g->shape[axis];
            ramp = malloc((size_t)(size * neap_dtype_bytes(g->dtype)));
            if (ramp == NULL)
                exit(1);
            for (int64_t i = 0; i < size; i++)
                element_set(g->dtype, ramp, i, g->start + g->step * (double)i);
            data = ramp;
        }
        char what[64];
        snprintf(what, sizeof what, "golden %zu (%s)", k, neap_dtype_name(g->dtype));
        lazy_text text = {0};
        check_text(what, graph_format(g->dtype, g->ndim, g->shape, data, &text), &text, g->text);
        free(ramp);
    }
}

/* Of a large array only the edges count. */
static void test_edges_only(void) {
    enum { ROWS = 7, COLUMNS = 1 << 20 };
    int32_t *data = calloc((size_t)ROWS * COLUMNS, sizeof *data);
    if (data == NULL)
        exit(1);
    for (int64_t row = 0; row < ROWS; row++) {
        for (int64_t i = 3; i < COLUMNS - 3; i++)
            data[row * COLUMNS + i] = 1000000; /* would widen every column */
    }
    const int64_t shape[] = {ROWS, COLUMNS};
    lazy_text text = {0};
    check_text("edges only", graph_format(NEAP_DTYPE_I32, 2, shape, data, &text), &text,
               "[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]\n ...\n [0 0 0 ... 0 0 0]\n"
               " [0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 0]]");
    free(data);
}

static void test_bad_arrays(void) {
    lazy_text text = {0};
    int64_t shape[] = {1};
    float value = 1;
    int status = graph_format(NEAP_DTYPE_COUNT, 1, shape, &value, &text);
    check(status == NEAP_E_ARGUMENT, "no such dtype", text.data, "error");
    status = graph_format(NEAP_DTYPE_F32, NEAP_MAX_DIMS + 1, shape, &value, &text);
    check(status == NEAP_E_ARGUMENT, "too many axes", text.data, "error");
    check(text.bytes == 0, "nothing was written", text.data, "");
    graph_text_free(&text);
}

/* ---- One element ------------------------------------------------------------------------------------------------ */

static void number(int dtype, double value, const char *conversion, const char *expected) {
    unsigned char element[8];
    element_set(dtype, element, 0, value);
    char what[64];
    snprintf(what, sizeof what, "%s of %s %g", conversion ? conversion : "NULL", neap_dtype_name(dtype), value);
    lazy_text text = {0};
    int status = graph_format_number(dtype, element, conversion, &text);
    if (expected != NULL) {
        check_text(what, status, &text, expected);
    } else {
        check(status == NEAP_E_ARGUMENT && text.bytes == 0, what, text.data, "NEAP_E_ARGUMENT");
        const char *error = neap_error_text();
        check(strstr(error, conversion) != NULL, "the error names the conversion", error, conversion);
        graph_text_free(&text);
    }
}

/* A text longer than any fixed room. */
static void test_long_number(void) {
    double value = -1e300;
    lazy_text text = {0};
    int status = graph_format_number(NEAP_DTYPE_F64, &value, "%.99f", &text);
    check(status == NEAP_OK && text.bytes == 1 + 301 + 1 + 99 && text.data[302] == '.', "%.99f of -1e300", text.data,
          "402 characters");
    graph_text_free(&text);
}

static void test_numbers(void) {
    number(NEAP_DTYPE_F32, 0.1, NULL, "0.1");
    number(NEAP_DTYPE_F32, 0.1, "%s", "0.1");
    number(NEAP_DTYPE_F64, -0.0, "%s", "-0.0");
    number(NEAP_DTYPE_BOOL, 1, NULL, "True");
    number(NEAP_DTYPE_BOOL, 0, "%6s", " False");
    number(NEAP_DTYPE_BOOL, 1, "%d", "1");
    number(NEAP_DTYPE_BOOL, 1, "%.1f", "1.0");
    number(NEAP_DTYPE_I32, -42, "%d", "-42");
    number(NEAP_DTYPE_I32, -42, "%06i", "-00042");
    number(NEAP_DTYPE_U8, 255, "%x", "ff");
    number(NEAP_DTYPE_U8, 255, "%#X", "0XFF");
    number(NEAP_DTYPE_I64, -1, "%x", "ffffffffffffffff");
    number(NEAP_DTYPE_I64, 7, "%.2f", "7.00");
    number(NEAP_DTYPE_F32, 3, "%d", "3");
    number(NEAP_DTYPE_F64, -3, "%+d|", NULL);
    number(NEAP_DTYPE_F64, 3, "%+5d", "   +3");
    number(NEAP_DTYPE_F64, 0.123456, "%.4f", "0.1235");
    number(NEAP_DTYPE_F64, 1e-10, "%g", "1e-10");
    number(NEAP_DTYPE_F64, 1234.5, "%-12.3e|", NULL);
    number(NEAP_DTYPE_F64, 1234.5, "%-12.3e", "1.234e+03   ");
    number(NEAP_DTYPE_F64, NAN, "%f", "nan");
    number(NEAP_DTYPE_F32, 1.5, "%d", NULL);
    number(NEAP_DTYPE_F64, 1e300, "%d", NULL);
    number(NEAP_DTYPE_F64, NAN, "%x", NULL);
    number(NEAP_DTYPE_F64, 1.5, "%020a", "0x0000000000001.8p+0");
    number(NEAP_DTYPE_F64, -INFINITY, "%06.1f", "  -inf");
    number(NEAP_DTYPE_I32, 5, "%-+6.3d", "+005  ");
    number(NEAP_DTYPE_I32, 8, "%#.3o", "010");
    number(NEAP_DTYPE_F32, 0.1, ":>8", "     0.1");
    number(NEAP_DTYPE_BOOL, 1, ":6", "True  ");
    number(NEAP_DTYPE_BOOL, 1, ":06.2f", "001.00");
    number(NEAP_DTYPE_I32, -255, ":#x", "-0xff");
    number(NEAP_DTYPE_I32, 1234567, ":*^+13,", "*+1,234,567**");
    number(NEAP_DTYPE_F64, 0.25, ":.1%", "25.0%");
    number(NEAP_DTYPE_F64, 1.5, ":c", NULL);
    number(NEAP_DTYPE_F64, 1.5, ":100", NULL);
    number(NEAP_DTYPE_I32, 1, ":.2", NULL);
    number(NEAP_DTYPE_F64, 1, "%n", NULL);
    number(NEAP_DTYPE_F64, 1, "%p", NULL);
    number(NEAP_DTYPE_F64, 1, "%c", NULL);
    number(NEAP_DTYPE_F64, 1, "%", NULL);
    number(NEAP_DTYPE_F64, 1, "%d %d", NULL);
    number(NEAP_DTYPE_F64, 1, "%ld", NULL);
    number(NEAP_DTYPE_F64, 1, "%*d", NULL);
    number(NEAP_DTYPE_F64, 1, "%100d", NULL);
    number(NEAP_DTYPE_F64, 1, "%.100f", NULL);
    number(NEAP_DTYPE_F64, 1, "%#d", NULL);
    number(NEAP_DTYPE_F64, 1, "%0s", NULL);
    number(NEAP_DTYPE_F64, 1, "d", NULL);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------ */

static void test_texts(void) {
    lazy_text text = {0};
    for (int k = 0; k < 1000; k++) {
        graph_text_add(&text, "ab", 2);
        graph_text_addf(&text, "%d,", k % 10);
    }
    check(text.bytes == 4000 && strncmp(text.data + 3996, "ab9,", 5) == 0, "a growing text", text.data, "… ab9,");
    int status = graph_text_add(&text, "", SIZE_MAX / 2);
    check(status == NEAP_E_MEMORY && text.bytes == 4000, "a text that is too long", text.data, "NEAP_E_MEMORY");
    graph_text_free(&text);
    check(text.data == NULL && text.bytes == 0, "a freed text is empty", text.data, "");
}

int main(void) {
    test_goldens();
    test_edges_only();
    test_bad_arrays();
    test_numbers();
    test_long_number();
    test_texts();
    printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
