/* native_object.c: native code from damaged object files, from damaged and contested caches, and without memory: it is
 * refused, and nothing crashes. Skipped without a generator. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "engine/generator.h"
#include "lazy/native/cache.h"
#include "lazy/native/object.h"
#include "ops_gen.h"
#include "tests/lazy/vm_native.h"

static uint64_t seed = 88172645463325252ull;
static size_t below(size_t n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (size_t)(seed >> 11) % n;
}

/* A body of n maps in a row, x = exp(x), x = tanh(x), …, then x + x. */
enum { MOST = 24 };
static native_body chain_of(int n) {
    static native_segment s;
    static const int16_t ops[] = {LAZY_OP_exp, LAZY_OP_tanh, LAZY_OP_sin};
    s = (native_segment){0};
    native_load(&s, NEAP_DTYPE_F32, true);
    for (int k = 0; k < n - 1; k++)
        native_ins(&s, (lazy_ins){ops[k % 3], NEAP_DTYPE_F32, NEAP_DTYPE_F32, 1, {k, k, k}});
    native_ins(&s, (lazy_ins){LAZY_OP_add, NEAP_DTYPE_F32, NEAP_DTYPE_F32, 2, {n - 1, n - 1, 0}});
    native_sink(&s, LAZY_SINK_STORE, 0, n);
    return (native_body){.nloops = 1, .loops = &s.loop};
}

/* ---- Object files ------------------------------------------------------------------------------------------------ */
static void test_object(const char *object, size_t bytes) {
    native_object loaded;
    native_code code;
    float x[100], y[100];
    char *at[] = {(char *)x, (char *)y};
    if (!CHECK(native_object_load(&loaded, object, bytes, "kernel")))
        return;
    memcpy(&code, &loaded.function, sizeof code);
    for (int k = 0; k < 100; k++)
        x[k] = 0, y[k] = -1;
    code(at, 99);
    CHECK(y[0] == 2 && y[98] == 2 && y[99] == -1); /* exp(0) + exp(0) */
    native_object_unload(&loaded);
    CHECK(!native_object_load(&loaded, object, bytes, "kernels"));
    CHECK(!native_object_load(&loaded, object, 0, "kernel"));
}

/* Loads a copy, at the end of which the sanitizer watches. Returns whether it could be loaded. */
static bool try_object(const char *object, size_t bytes) {
    native_object loaded;
    char *copy = malloc(bytes);
    memcpy(copy, object, bytes);
    bool fine = native_object_load(&loaded, copy, bytes, "kernel");
    if (fine)
        native_object_unload(&loaded);
    free(copy);
    return fine;
}

static void test_damaged_objects(const char *object, size_t bytes) {
    int refused = 0, tries = check_times(2500, 1000);
    for (size_t n = 1; n < bytes; n += 1 + n / 40)
        CHECK(!try_object(object, n)); /* the section table is at the end */
    char *copy = malloc(bytes);
    for (int k = 0; k < tries; k++) {
        memcpy(copy, object, bytes);
        size_t from = k % 3 == 0 ? 0 : k % 3 == 1 ? bytes - bytes / 3 : below(bytes), room = k % 3 ? bytes - from : 64;
        for (size_t flips = 1 + below(4); flips > 0; flips--)
            copy[from + below(room)] = (char)(below(3) == 0 ? 0xff : below(256));
        refused += !try_object(copy, bytes);
    }
    CHECK(refused > tries / 8);
    free(copy);
}

/* ---- The cache --------------------------------------------------------------------------------------------------- */
static char folder[] = "/tmp/neap-native-XXXXXX", files[64]; /* of the test; where object files are */
static const char key[] = "a key";
enum { HASH = 0x1234 };

static const char *cache_file(void) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%016x.o", files, HASH);
    return path;
}

static int count_files(const char *path) {
    DIR *list = opendir(path);
    int n = 0;
    for (struct dirent *entry; list && (entry = readdir(list));)
        n += entry->d_name[0] != '.';
    if (list)
        closedir(list);
    return n;
}

static bool cache_has(uint64_t hash, const char *with, const char *object, size_t bytes) {
    void *file;
    size_t got;
    if (!native_cache_read(hash, with, strlen(with) + 1, &file, &got))
        return false;
    bool same = got == bytes && memcmp(file, object, bytes) == 0;
    CHECK(same);
    free(file);
    return same;
}

static void overwrite(const char *path, const void *data, size_t bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    close(fd);
}

static void test_damaged_cache(const char *object, size_t bytes) {
    static char whole[1 << 20], copy[1 << 20];
    CHECK(!cache_has(HASH, key, object, bytes));
    native_cache_write(HASH, key, sizeof key, object, bytes);
    CHECK(cache_has(HASH, key, object, bytes));
    CHECK(!cache_has(HASH, "b key", object, bytes));
    CHECK(!cache_has(HASH, "another key", object, bytes));
    int fd = open(cache_file(), O_RDONLY);
    ssize_t size = read(fd, whole, sizeof whole);
    close(fd);
    if (!CHECK(size > (ssize_t)bytes && size < (ssize_t)sizeof whole))
        return;
    for (ssize_t k = 0; k < size; k += k < 100 ? 1 : size / 50) { /* build, machine, sizes, sum, key, then code */
        memcpy(copy, whole, (size_t)size);
        copy[k] ^= 0x10;
        overwrite(cache_file(), copy, (size_t)size);
        CHECK(!cache_has(HASH, key, object, bytes));
    }
    for (ssize_t n = 0; n < size; n += 1 + n / 3) {
        overwrite(cache_file(), whole, (size_t)n);
        CHECK(!cache_has(HASH, key, object, bytes));
    }
    memcpy(copy, whole, (size_t)size);
    overwrite(cache_file(), copy, (size_t)size + 1);
    CHECK(!cache_has(HASH, key, object, bytes));
    overwrite(cache_file(), whole, (size_t)size);
    CHECK(cache_has(HASH, key, object, bytes));
    chmod(cache_file(), 0666); /* anybody could have written it */
    CHECK(!cache_has(HASH, key, object, bytes));
    unlink(cache_file());
    CHECK(mkdir(cache_file(), 0700) == 0);
    CHECK(!cache_has(HASH, key, object, bytes));
    native_cache_write(HASH, key, sizeof key, object, bytes);
    CHECK(rmdir(cache_file()) == 0);
    CHECK(mkfifo(cache_file(), 0600) == 0);
    CHECK(!cache_has(HASH, key, object, bytes));
    native_cache_write(HASH, key, sizeof key, object, bytes); /* takes its place */
    CHECK(cache_has(HASH, key, object, bytes));
    CHECK_EQ(count_files(files), 1); /* what could not be finished is gone */
}

static void test_without_cache(const char *object, size_t bytes) {
    static const char *const places[] = {"/dev/null/cache", "/proc/cache", "relative", ""};
    unsetenv("HOME");
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        setenv("XDG_CACHE_HOME", places[k], 1);
        native_cache_write(HASH, key, sizeof key, object, bytes);
        CHECK(!cache_has(HASH, key, object, bytes));
    }
    setenv("XDG_CACHE_HOME", folder, 1);
    chmod(files, 0500);
    native_cache_write(HASH + 8, key, sizeof key, object, bytes);
    CHECK(cache_has(HASH + 8, key, object, bytes) == (geteuid() == 0));
    chmod(files, 0700);
    CHECK(cache_has(HASH, key, object, bytes));
}

/* Processes that write the same files while others read: what is read is whole. */
static void test_writers(const char *object, size_t bytes) {
    pid_t writers[2];
    for (int k = 0; k < 2; k++)
        if ((writers[k] = fork()) == 0) {
            for (int n = 0; n < 200; n++)
                native_cache_write(HASH + (uint64_t)n % 3, key, sizeof key, object, bytes - (size_t)(n % 3));
            _exit(0);
        }
    int status, wrong = 0, read = 0;
    void *file;
    size_t got;
    for (int n = 0; n < 600; n++)
        if (native_cache_read(HASH + (uint64_t)n % 3, key, sizeof key, &file, &got)) {
            wrong += got != bytes - (size_t)(n % 3) || memcmp(file, object, got) != 0;
            read++;
            free(file);
        }
    for (int k = 0; k < 2; k++)
        CHECK(waitpid(writers[k], &status, 0) == writers[k] && status == 0);
    CHECK(wrong == 0 && read > 0);
    CHECK_EQ(count_files(files), 4 - (geteuid() != 0));
}

/* Old files go when the folder is over its budget. */
static void test_budget(const char *object, size_t bytes) {
    char path[128];
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    for (int k = 0; k < 40; k++) {
        snprintf(path, sizeof path, "%s/%016x.o", files, 0x9000 + k);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        CHECK(ftruncate(fd, 2 << 20) == 0 && futimens(fd, old) == 0);
        close(fd);
    }
    for (int k = 0; k < 64; k++)
        native_cache_write(HASH, key, sizeof key, object, bytes);
    CHECK(count_files(files) > 3 && count_files(files) < 35);
    CHECK(cache_has(HASH, key, object, bytes));
}

/* ---- Shortage ---------------------------------------------------------------------------------------------------- */
/* A file's size is limited, as on a full disk: the code is there all the same. The signal is at its default. */
static void test_full_disk(void) {
    struct rlimit before, limit;
    int n = count_files(files);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before, limit.rlim_cur = 300;
    native_body body = chain_of(2);
    setrlimit(RLIMIT_FSIZE, &limit);
    native_unit *unit = native_want(&body, "baseline");
    native_await(unit);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_EQ(native_state_of(unit), NATIVE_READY);
    CHECK_EQ(count_files(files), n);
    native_drop(unit);
}

/* In a process of its own: code for a large body with so many further MiB of addresses. */
static int with_little_memory(int megabytes) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1)
        return 1;
    fclose(file);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)megabytes << 20);
    if (setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) != 0)
        return 1;
    for (int n = MOST; n >= MOST - 1; n--) { /* what fails once must not break the next */
        native_body body = chain_of(n);
        native_unit *unit = native_want(&body, "baseline");
        if (!unit)
            continue;
        native_await(unit);
        if (native_state_of(unit) == NATIVE_FAILED && !*native_failure(unit))
            return 1;
        printf("%d MiB: %s\n", megabytes, native_state_of(unit) == NATIVE_READY ? "made" : native_failure(unit));
        native_drop(unit);
    }
    fflush(stdout);
    return 0;
}

static void test_memory(const char *self) {
    static const int sizes[] = {1, 64, 97, 99, 101, 103, 106, 130, 300};
#if defined(__SANITIZE_ADDRESS__) /* which has taken all addresses */
    return;
#endif
    setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        char command[PATH_MAX + 32];
        snprintf(command, sizeof command, "'%s' %d", self, sizes[k]);
        CHECK_EQ(system(command), 0);
    }
}

int main(int argc, char **argv) {
    native_begin();
    if (!native_is_there)
        return 0;
    if (argc > 1)
        return with_little_memory(atoi(argv[1]));
    void *object = NULL;
    size_t bytes = 0;
    native_body body = chain_of(2);
    if (!CHECK(mkdtemp(folder)) || !CHECK_EQ(neap_generator_in_use()->generate(&body, "baseline", &object, &bytes), 0))
        return check_end();
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(files, sizeof files, "%s/neap/native", folder);
    test_object(object, bytes);
    test_damaged_objects(object, bytes);
    test_damaged_cache(object, bytes);
    test_without_cache(object, bytes);
    test_writers(object, bytes);
    test_budget(object, bytes);
    test_full_disk();
    test_memory(argv[0]);
    free(object);
    char command[64];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK_EQ(system(command), 0);
    return check_end();
}
