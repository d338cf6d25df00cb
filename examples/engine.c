/* engine.c: neap's dependency engine on its own, from C.
 *
 *      cc -I build/generated examples/engine.c -L build -lneap -Wl,-rpath,"$PWD/build" -o build/engine && build/engine
 *
 * The engine runs functions in an order that is given by what they read and write. You make variables (a buffer is
 * memory with a variable), push functions with the variables that they read and write, and go on at once; the engine
 * runs what is ready on its threads. Waiting is needed only where the program itself looks at the data. Three parts:
 *
 *      1. a product of two matrices in tiles: many ops, no explicit synchronization, two devices
 *      2. an operator: one op that is pushed again and again
 *      3. a failure: it flows to what depends on it, and is reported once
 */
#include "neap.h"

#include <stdio.h>
#include <stdlib.h>

enum { TILES = 4, T = 32 }; /* matrices of TILES × TILES tiles of T × T numbers */

/* Most calls return a negative status on failure, and leave a text. */
static void check(int status) {
    if (status < 0) {
        fprintf(stderr, "neap: %s\n", neap_error_text());
        exit(1);
    }
}

/* ---- 1. A product in tiles --------------------------------------------------------------------------------------- */

typedef struct matrix {
    neap_buffer *tile[TILES][TILES];
} matrix;

typedef struct job {
    double *c; /* the tile to write */
    const double *a, *b;
    int i0, j0, p, q, modulus;
} job;

/* Pushes fn with a copy of the job, which is freed when the op has finished. Fields that are not named have good
 * defaults; which device runs what makes no difference to the result. */
static void push(neap_sync_fn fn, const char *name, job what, int device, int nreads, neap_var **reads,
                 neap_var *write) {
    job *copy = malloc(sizeof *copy);
    *copy = what;
    check(neap_push_sync(fn, copy,
                         &(neap_push){.name = name,
                                      .release = free,
                                      .device = device % neap_engine_devices(),
                                      .nreads = nreads,
                                      .reads = reads,
                                      .nwrites = 1,
                                      .writes = &write}));
}

/* The work of an op: it gets its argument, and where it runs. It returns 0 or a negative status. */
static int fill(void *arg, const neap_run *run) {
    (void)run;
    job *f = arg;
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++)
            f->c[i * T + j] = (f->p * (f->i0 + i) + f->q * (f->j0 + j)) % f->modulus;
    }
    return 0;
}

static int multiply(void *arg, const neap_run *run) {
    (void)run;
    job *m = arg;
    for (int i = 0; i < T; i++) {
        for (int k = 0; k < T; k++) {
            for (int j = 0; j < T; j++)
                m->c[i * T + j] += m->a[i * T + k] * m->b[k * T + j];
        }
    }
    return 0;
}

/* A matrix of (p·i + q·j) mod modulus, which does not exist yet when this returns. */
static void make(matrix *m, int p, int q, int modulus) {
    for (int i = 0; i < TILES; i++) {
        for (int j = 0; j < TILES; j++) {
            neap_buffer **tile = &m->tile[i][j];
            check(neap_buffer_new(0, T * T * sizeof(double), tile));
            job what = {.c = neap_buffer_data(*tile), .i0 = i * T, .j0 = j * T, .p = p, .q = q, .modulus = modulus};
            push(fill, "fill", what, i + j, 0, NULL, neap_buffer_var(*tile));
        }
    }
}

/* c += a · b. Each op waits for the fills of its tiles; the ops that add to the same tile of c run one after the other,
 * in the order of the pushes, and everything else side by side. */
static void push_product(const matrix *a, const matrix *b, const matrix *c) {
    for (int n = 0; n < TILES * TILES * TILES; n++) {
        int k = n / (TILES * TILES), i = n / TILES % TILES, j = n % TILES;
        neap_buffer *left = a->tile[i][k], *right = b->tile[k][j], *sum = c->tile[i][j];
        job what = {.a = neap_buffer_data(left), .b = neap_buffer_data(right), .c = neap_buffer_data(sum)};
        neap_var *reads[2] = {neap_buffer_var(left), neap_buffer_var(right)};
        push(multiply, "multiply", what, i + j, 2, reads, neap_buffer_var(sum));
    }
}

/* Memory goes back to the pool after its last use, so a matrix may be given up while ops still work on it. */
static void drop(matrix *m) {
    for (int i = 0; i < TILES * TILES; i++)
        neap_buffer_release(m->tile[i / TILES][i % TILES]);
}

static void product(void) {
    matrix a, b, c;
    make(&a, 1, 2, 7);
    make(&b, 3, 1, 5);
    make(&c, 0, 0, 1);
    push_product(&a, &b, &c);
    drop(&a);
    drop(&b);
    double sum = 0;
    for (int i = 0; i < TILES * TILES; i++) {
        neap_buffer *tile = c.tile[i / TILES][i % TILES];
        check(neap_var_wait_to_read(neap_buffer_var(tile))); /* from here on we may read it */
        const double *numbers = neap_buffer_data(tile);
        for (int k = 0; k < T * T; k++)
            sum += numbers[k];
    }
    printf("product: %d x %d in %d tiles, sum %.0f\n", TILES * T, TILES * T, TILES * TILES, sum);
    drop(&c);
}

/* ---- 2. An operator ---------------------------------------------------------------------------------------------- */

static int halve(void *arg, const neap_run *run) {
    (void)run;
    *(double *)neap_buffer_data(arg) /= 2;
    return 0;
}

/* Its variables are checked and put in order once; each push then only says where, and how urgent. */
static void operators(void) {
    neap_buffer *number;
    neap_operator *op;
    check(neap_buffer_new(0, sizeof(double), &number));
    *(double *)neap_buffer_data(number) = 1024; /* nobody else knows it yet */
    neap_var *var = neap_buffer_var(number);
    neap_push what = {.name = "halve", .flags = NEAP_PUSH_SMALL, .nwrites = 1, .writes = &var};
    check(neap_operator_new(halve, number, &what, &op));
    for (int i = 0; i < 10; i++)
        check(neap_operator_push(op, i % neap_engine_devices(), 0));
    neap_operator_delete(op); /* what was pushed still runs */
    check(neap_var_wait_to_read(var));
    printf("operator: 1024 halved 10 times is %g, version %d\n", *(double *)neap_buffer_data(number),
           (int)neap_var_version(var));
    neap_buffer_release(number);
}

/* ---- 3. A failure ------------------------------------------------------------------------------------------------ */

static int divide(void *arg, const neap_run *run) {
    (void)run;
    int *numbers = arg;
    if (numbers[1] == 0)
        return neap_error(NEAP_E_ARGUMENT, "%d divided by zero", numbers[0]);
    numbers[0] /= numbers[1];
    return 0;
}

static int announce(void *arg, const neap_run *run) {
    (void)run;
    printf("%s\n", (const char *)arg);
    return 0;
}

static void failure(void) {
    int numbers[2] = {7, 0};
    neap_var *quotient, *report;
    check(neap_var_new(&quotient));
    check(neap_var_new(&report));
    check(neap_push_sync(divide, numbers,
                         &(neap_push){.name = "divide", .site = "line 1", .nwrites = 1, .writes = &quotient}));
    neap_push next = {.nreads = 1, .reads = &quotient, .nwrites = 1, .writes = &report};
    check(neap_push_sync(announce, "failure: never printed, as what it reads has failed", &next));
    if (neap_var_wait_to_read(report) < 0) /* it inherited the failure, which names the op that made it */
        printf("failure: %s\n", neap_error_text());
    printf("failure: the next wait gives %d\n", neap_wait_all());
    neap_var_delete(quotient);
    neap_var_delete(report);
}

int main(void) {
    check(neap_engine_start(&(neap_engine_config){.workers = 2, .devices = 2}));
    product();
    operators();
    failure();
    neap_engine_stop();
    return 0;
}
