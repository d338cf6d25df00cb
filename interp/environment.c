/* environment.c: setenv, putenv and unsetenv that leave to other threads what they may be reading.
 *
 * MPI_Init and the libraries under it set variables, from the thread that moves messages, while a script calls
 * os.getenv and starts children with the same environment. glibc before 2.41 frees the array of the environment where
 * it has to grow: a child then fails to start, or a name is looked for in freed memory. These definitions stand before
 * glibc's for the whole process, its libraries included, and never free an array. A value that was replaced is kept,
 * too, as glibc does. They are the executable's: where another program has loaded the library, such as luajit, that
 * program's libc decides.
 */
#include <features.h>

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 41)
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

typedef struct array {
    struct array *before; /* arrays that somebody may be reading */
    size_t room;
    char *entries[];
} array;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static array *last;

/* An array with room for one entry more than these n and the NULL at their end. */
static char **grow(char **entries, size_t n) {
    if (last && entries == last->entries && n + 2 <= last->room)
        return entries;
    size_t room = 2 * n + 16;
    array *grown = malloc(sizeof *grown + room * sizeof(char *));
    if (!grown)
        return NULL;
    *grown = (array){.before = last, .room = room};
    if (n > 0)
        memcpy(grown->entries, entries, n * sizeof(char *));
    grown->entries[n] = NULL;
    last = grown;
    return grown->entries;
}

/* Puts "NAME=VALUE" in, whose name has this length. */
static int put(char *entry, size_t length) {
    size_t n = 0;
    for (; environ && environ[n]; n++)
        if (strncmp(environ[n], entry, length + 1) == 0) {
            environ[n] = entry;
            return 0;
        }
    char **entries = grow(environ, n);
    if (!entries)
        return -1;
    entries[n + 1] = NULL;
    __atomic_store_n(&entries[n], entry, __ATOMIC_RELEASE);
    __atomic_store_n(&environ, entries, __ATOMIC_RELEASE);
    return 0;
}

static int put_locked(char *entry, size_t length) {
    pthread_mutex_lock(&lock);
    int status = put(entry, length);
    pthread_mutex_unlock(&lock);
    return status;
}

/* The length of a name; 0, with errno set, if it cannot be one. */
static size_t length_of(const char *name) {
    size_t length = name ? strcspn(name, "=") : 0;
    if (length > 0 && !name[length])
        return length;
    errno = EINVAL;
    return 0;
}

EXPORT int setenv(const char *name, const char *value, int overwrite) {
    size_t length = length_of(name), bytes = strlen(value) + 1;
    if (length == 0)
        return -1;
    if (!overwrite && getenv(name))
        return 0;
    char *entry = malloc(length + 1 + bytes);
    if (!entry)
        return -1;
    memcpy(entry, name, length);
    entry[length] = '=';
    memcpy(entry + length + 1, value, bytes);
    int status = put_locked(entry, length);
    if (status != 0)
        free(entry);
    return status;
}

EXPORT int putenv(char *entry) {
    const char *end = strchr(entry, '=');
    return end ? put_locked(entry, (size_t)(end - entry)) : unsetenv(entry);
}

EXPORT int unsetenv(const char *name) {
    size_t length = length_of(name);
    if (length == 0)
        return -1;
    pthread_mutex_lock(&lock);
    char **to = environ;
    for (char **from = environ; from && *from; from++)
        if (strncmp(*from, name, length) != 0 || (*from)[length] != '=')
            *to++ = *from;
    if (to)
        *to = NULL;
    pthread_mutex_unlock(&lock);
    return 0;
}

#endif
