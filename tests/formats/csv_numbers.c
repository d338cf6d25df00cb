/* csv_numbers.c: numbers of CSV files against the C library's strtod and strtof, bit for bit: random texts of all
 * lengths and powers, texts halfway between two floats, the ends of the range; and what is written reads back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"
#include "tests/check.h"

static uint64_t state = UINT64_C(88172645463325252);

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double draw_double(void) {
    uint64_t bits = draw();
    double value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0.5;
}

static float draw_float(void) {
    uint32_t bits = (uint32_t)draw();
    float value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0.5F;
}

/* Both readings of one text. */
static void try_text(const char *text) {
    size_t bytes = strlen(text);
    csv_number number = csv_number_of(text, bytes);
    CHECK(number.kind != CSV_NOT);
    double want = strtod(text, NULL), got = csv_double(&number, text, bytes);
    float want_single = strtof(text, NULL), got_single = csv_float(&number, text, bytes);
    if (memcmp(&want, &got, sizeof want) != 0)
        printf("%s reads as %.17g, not %.17g\n", text, got, want);
    if (memcmp(&want_single, &got_single, sizeof want_single) != 0)
        printf("%s reads as %.9g, not %.9g\n", text, (double)got_single, (double)want_single);
    CHECK(memcmp(&want, &got, sizeof want) == 0 && memcmp(&want_single, &got_single, sizeof got_single) == 0);
}

static void try_random(int rounds) {
    char text[80];
    for (int k = 0; k < rounds; k++) {
        snprintf(text, sizeof text, "%.*f", (int)(draw() % 18), (double)(draw() >> 11) * 0x1p-53 * 1000);
        try_text(text);
        snprintf(text, sizeof text, "-%llue%d", (unsigned long long)(draw() >> draw() % 64), (int)(draw() % 61) - 30);
        try_text(text);
        snprintf(text, sizeof text, "%.17g", draw_double());
        try_text(text);
        float single = draw_float();
        double next = (double)nextafterf(single, INFINITY); /* halfway between two floats */
        snprintf(text, sizeof text, "%.18g", isinf(next) ? 1.5 : (double)single + (next - (double)single) / 2);
        try_text(text);
        uint64_t between =
            ((UINT64_C(1) << 24) + (draw() >> 41)) * 2 + 1; /* halfway between two floats, in few digits */
        snprintf(text, sizeof text, "%llu.%03d", (unsigned long long)between, (int)(draw() % 3));
        try_text(text);
        uint64_t half = ((UINT64_C(1) << 53) + (draw() >> 12)) * 2 + 1; /* halfway between two doubles */
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)half, (int)(draw() % 5));
        try_text(text);
    }
}

static void try_written(int rounds) {
    char text[33];
    for (int k = 0; k < rounds; k++) {
        double value = draw_double();
        float single = draw_float();
        text[csv_number_write(value, 8, text)] = '\0';
        CHECK(strtod(text, NULL) == value);
        text[csv_number_write((double)single, 4, text)] = '\0';
        CHECK(strtof(text, NULL) == single);
    }
    static const struct {
        double value;
        const char *text;
    } known[] = {{0.1, "0.1"},   {-1.5, "-1.5"},       {100, "100.0"},      {1e300, "1e+300"},
                 {-0.0, "-0.0"}, {0.00001, "0.00001"}, {1.5e-7, "1.5e-07"}, {123456.75, "123456.75"}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        text[csv_number_write(known[k].value, 8, text)] = '\0';
        CHECK(strcmp(text, known[k].text) == 0);
    }
}

static int kind_of(const char *text) {
    return csv_number_of(text, strlen(text)).kind;
}

int main(void) {
    static const char *const hard[] = {"0",
                                       "-0",
                                       "+1",
                                       ".5",
                                       "5.",
                                       "1e400",
                                       "-1e400",
                                       "1e-400",
                                       "4.9e-324",
                                       "2.4703282292062327e-324",
                                       "2.2250738585072011e-308",
                                       "1.7976931348623157e308",
                                       "1.7976931348623159e308",
                                       "3.4028235677973366e38",
                                       "1.401298464324817e-45",
                                       "9007199254740993",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "123456789012345678901234567890",
                                       "0.000000000000000000000000000000000000000000001",
                                       "inf",
                                       "-Infinity",
                                       "00000000000000000000000001.5",
                                       "1e00000000000000000005",
                                       "1e999999999999",
                                       "16777217",
                                       "8388608.5"};
    for (size_t k = 0; k < sizeof hard / sizeof *hard; k++)
        try_text(hard[k]);
    try_random(check_times(20000, 2000));
    try_written(check_times(3000, 300));
    CHECK(kind_of("12") == CSV_INTEGER && kind_of("-12") == CSV_INTEGER && kind_of("1.") == CSV_REAL);
    static const char *const none[] = {"", "-", ".", "e5", "1e", "1e+", "0x10", "1_000", "1,5", "--1", "1 2", "infin"};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++)
        CHECK(kind_of(none[k]) == CSV_NOT);
    csv_number word = csv_number_of("nan", 3);
    CHECK(isnan(csv_double(&word, "nan", 3)) && isnan(csv_float(&word, "NaN", 3)));
    static const char line[] = "-12.5e1,7"; /* a number ends where it ends, whatever is behind it */
    csv_number number;
    CHECK(csv_number_at(line, line + strlen(line), &number) == line + 7 && number.kind == CSV_REAL);
    CHECK(number.negative && number.whole && number.size == 125 && number.power == 0);
    return check_end();
}
