/* timeline_file.c: the timeline's file: records as events of the "Trace Event Format", JSON object form.
 *
 *      {"traceEvents":[
 *      {"ph":"M", … process_name},
 *      {"ph":"X","pid":7,"tid":2,"ts":12.345,"dur":3.210,"name":"matmul","cat":"op","args":{"line":"a.lua:3", …}},
 *      …
 *      ],"displayTimeUnit":"ns","otherData":{…,"dropped":0,"complete":true}}      ◀── the tail
 *
 * Each flush writes what is new and the tail behind it, in one call where the system allows it; the next flush begins
 * where the tail did. So the file is a complete document at any time, whatever ends the process. The tail has always
 * the same length: when a flush fails (a full disk), it is put back to where the last good one had it. In what cannot
 * be written twice (a pipe), the tail comes once, at the end.
 *
 *      cat "op"     X, one for each op; an async op instead has b … e, from its start to its completion
 *      cat "start"  X, an async op's function, on the thread that started it
 *      cat "step"   X inside an op: one of several pieces that run as one op
 *      cat "share"  X inside an op, or on a worker that helps: a thread's part of a parallel loop
 *      cat "wait"   X, a thread that waits
 *      C            "memory" (bytes), "ops" (pushed and not finished)
 *
 * Times are in µs from the start of the recording, with three decimals.
 */
#include "engine/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TEXT_BYTES = ENGINE_LIMIT(256 * 1024, 16 * 1024),
    EVENT_MOST =
        8 * 1024, /* of one record: four texts of at most 255 bytes, each byte up to six in JSON, and the fields */
    TAIL_BYTES = 320
};

static struct {
    int fd, error; /* errno of the write that failed */
    bool rewritable;
    char *path;
    char *text; /* TEXT_BYTES, and room for the tail */
    size_t used;
    off_t end; /* of the events that are in the file */
    char tail[TAIL_BYTES];
    size_t tail_bytes;
    uint64_t dropped;
    int64_t start;
    char started[32]; /* the wall clock then */
    int workers, devices;
    uint64_t live, pooled, unfinished; /* last sampled */
} file;

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static void put_bytes(const char *text, size_t bytes) {
    memcpy(file.text + file.used, text, bytes);
    file.used += bytes;
}

static void put_c_string(const char *text) {
    put_bytes(text, strlen(text));
}

static void put_decimal(uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    put_bytes(digits + at, sizeof digits - at);
}

/* Nanoseconds as microseconds. */
static void put_time(int64_t ns) {
    uint64_t time = ns > 0 ? (uint64_t)ns : 0;
    put_decimal(time / 1000);
    char decimals[4] = {'.', (char)('0' + time / 100 % 10), (char)('0' + time / 10 % 10), (char)('0' + time % 10)};
    put_bytes(decimals, sizeof decimals);
}

/* The length of the well-formed UTF-8 sequence at the start of the text, or 0 (Unicode 15, table 3-7). */
static size_t sequence(const unsigned char *text, size_t bytes) {
    unsigned char lead = text[0], low = 0x80, high = 0xbf;
    if (lead < 0x80)
        return 1;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || length > bytes)
        return 0;
    if (lead == 0xe0)
        low = 0xa0;
    if (lead == 0xed)
        high = 0x9f; /* surrogates */
    if (lead == 0xf0)
        low = 0x90;
    if (lead == 0xf4)
        high = 0x8f;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t k = 2; k < length; k++) {
        if ((text[k] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

/* A string of JSON; what is not UTF-8 becomes U+FFFD. */
static void put_string(const char *text, size_t bytes) {
    static const char hex[] = "0123456789abcdef";
    put_bytes("\"", 1);
    for (size_t k = 0; k < bytes;) {
        unsigned char c = (unsigned char)text[k];
        size_t length = sequence((const unsigned char *)text + k, bytes - k);
        if (c < 0x20 || c == 0x7f) {
            char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            put_bytes(escape, sizeof escape);
        } else if (c == '"' || c == '\\') {
            char escape[2] = {'\\', (char)c};
            put_bytes(escape, sizeof escape);
        } else if (length == 0) {
            put_c_string("\xef\xbf\xbd");
        } else {
            put_bytes(text + k, length);
        }
        k += length ? length : 1;
    }
    put_bytes("\"", 1);
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* Writes all of it, at `offset` if the file is rewritable. Returns 0 or errno. */
static int write_all(const char *text, size_t bytes, off_t offset) {
    while (bytes > 0) {
        ssize_t count = file.rewritable ? pwrite(file.fd, text, bytes, offset) : write(file.fd, text, bytes);
        if (count >= 0) {
            text += count;
            bytes -= (size_t)count;
            offset += count;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd ready = {.fd = file.fd, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* The file ends as it did after the last good flush. The bytes of that tail lie in blocks that the file has already. */
static void give_file_up(int error) {
    file.error = error;
    file.used = 0;
    if (file.rewritable && file.tail_bytes > 0 && write_all(file.tail, file.tail_bytes, file.end) == 0 &&
        ftruncate(file.fd, file.end + (off_t)file.tail_bytes) != 0) {
        file.error = errno;
    }
}

static void make_tail(bool complete) {
    if (engine_phase() == ENGINE_RUNNING) { /* else it has been stopped before */
        file.workers = engine.workers;
        file.devices = engine.cpus;
    }
    file.tail_bytes = (size_t)snprintf(
        file.tail, sizeof file.tail,
        "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"version\":\"neap " NEAP_VERSION "\",\"started\":\"%s\","
        "\"workers\":%-5d,\"devices\":%-5d,\"dropped\":%-20llu,\"complete\":%-5s}}\n",
        file.started, file.workers, file.devices, (unsigned long long)file.dropped, complete ? "true" : "false");
}

/* Writes the text so far, and a tail if it can be written again or this is the end. */
static void flush(bool complete) {
    if (file.error)
        return;
    char before[TAIL_BYTES];
    size_t bytes = file.used;
    memcpy(before, file.tail, sizeof before);
    if (file.rewritable || complete) {
        make_tail(complete);
        memcpy(file.text + bytes, file.tail, file.tail_bytes);
        bytes += file.tail_bytes;
    }
    int error = write_all(file.text, bytes, file.end);
    if (error) {
        memcpy(file.tail, before, sizeof before);
        give_file_up(error);
        return;
    }
    file.end += (off_t)file.used;
    file.used = 0;
}

/* Makes room for an event; false: nothing is written any more. */
static bool begin_event(void) {
    if (TEXT_BYTES - file.used < EVENT_MOST)
        flush(false);
    return !file.error;
}

static void write_time(void) {
    struct timespec now;
    struct tm utc;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(file.started, sizeof file.started, "%s.%03dZ", seconds, (int)(now.tv_nsec / 1000000 % 1000));
}

static int close_timeline_file(int status) {
    if (file.fd >= 0 && close(file.fd) != 0 && !file.error)
        file.error = errno;
    if (file.error) {
        char reason[128];
        status = neap_error(NEAP_E_IO, "cannot write the timeline '%s': %s", file.path,
                            strerror_r(file.error, reason, sizeof reason));
    }
    free(file.text);
    free(file.path);
    memset(&file, 0, sizeof file);
    return status;
}

int engine_timeline_file_open(const char *path, int64_t start) {
    memset(&file, 0, sizeof file);
    size_t length = strlen(path) + 1;
    file.fd = -1;
    file.start = start;
    file.path = engine_alloc(length);
    file.text = engine_alloc(TEXT_BYTES + TAIL_BYTES);
    if (!file.path || !file.text)
        return close_timeline_file(neap_error(NEAP_E_MEMORY, "no memory for a timeline"));
    memcpy(file.path, path, length);
    write_time();
    do {
        file.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    } while (file.fd < 0 && errno == EINTR);
    if (file.fd < 0) {
        file.error = errno;
        return close_timeline_file(NEAP_E_IO);
    }
    struct stat facts;
    file.rewritable = fstat(file.fd, &facts) == 0 && S_ISREG(facts.st_mode);
    put_c_string("{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":");
    put_decimal((uint64_t)getpid());
    put_c_string(",\"name\":\"process_name\",\"args\":{\"name\":");
    put_string(program_invocation_short_name, strnlen(program_invocation_short_name, 255));
    put_c_string("}}");
    flush(false);
    return file.error ? close_timeline_file(NEAP_E_IO) : NEAP_OK;
}

void engine_timeline_file_flush(uint64_t dropped) {
    if (file.used == 0 && file.dropped == dropped)
        return;
    file.dropped = dropped;
    flush(false);
}

int engine_timeline_file_close(uint64_t dropped) {
    file.dropped = dropped;
    flush(true);
    return close_timeline_file(NEAP_OK);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* The fields that all events have, up to the time: what follows begins with a comma. */
static void put_event(const char *phase, int tid, int64_t time) {
    put_c_string(",\n{\"ph\":\"");
    put_c_string(phase);
    put_c_string("\",\"pid\":");
    put_decimal((uint64_t)getpid());
    put_c_string(",\"tid\":");
    put_decimal((uint64_t)tid);
    put_c_string(",\"ts\":");
    put_time(time - file.start);
}

static void put_named(const char *category, const char *name, size_t bytes) {
    put_c_string(",\"name\":");
    put_string(bytes ? name : "op", bytes ? bytes : 2);
    put_c_string(",\"cat\":\"");
    put_c_string(category);
    put_c_string("\"");
}

static void put_field(const char *key, uint64_t value) {
    put_c_string(key);
    put_decimal(value);
}

void engine_timeline_file_thread(int tid, const char *name, int order) {
    if (!begin_event())
        return;
    put_event("M", tid, file.start);
    put_c_string(",\"name\":\"thread_name\",\"args\":{\"name\":");
    put_string(name, strlen(name));
    put_c_string("}}");
    put_event("M", tid, file.start);
    put_field(",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", (uint64_t)order);
    put_c_string("}}");
}

static void put_state(const engine_record *record, const char *error) {
    static const char *const words[] = {"done", "failed", "skipped"};
    put_c_string("\"state\":\"");
    put_c_string(words[record->state]);
    put_c_string("\"");
    if (record->error_bytes) {
        put_c_string(",\"error\":");
        put_string(error, record->error_bytes);
    }
}

/* What is told of an op: where it is from, and what it had to do. */
static void put_facts(const engine_record *record, const char *site) {
    if (record->site_bytes) {
        put_c_string("\"line\":");
        put_string(site, record->site_bytes);
        put_c_string(",");
    }
    put_field("\"read\":", record->read);
    put_field(",\"written\":", record->written);
    if (record->kind == ENGINE_RECORD_STEP)
        return;
    put_c_string(",\"device\":");
    put_string(site + record->site_bytes, record->device_bytes);
    put_c_string(record->at_push ? ",\"at_push\":true" : ",\"at_push\":false");
    if (record->queued >= file.start && record->queued <= record->began) {
        put_c_string(",\"queued_us\":");
        put_time(record->began - record->queued);
    }
}

static void put_slice(int tid, const engine_record *record, const char *category, const char *name) {
    put_event("X", tid, record->began);
    put_c_string(",\"dur\":");
    put_time(record->ended - file.start - (record->began - file.start));
    put_named(category, name, record->name_bytes);
    put_c_string(",\"args\":{");
}

static void put_async(const char *phase, int tid, const engine_record *record, const char *name) {
    put_event(phase, tid, record->began);
    put_field(",\"id\":\"", record->id);
    put_c_string("\"");
    put_named("op", name, record->name_bytes);
    put_c_string(",\"args\":{");
}

void engine_timeline_file_record(int tid, const engine_record *record) {
    if (!begin_event())
        return;
    const char *name = (const char *)(record + 1), *site = name + record->name_bytes;
    const char *error = site + record->site_bytes + record->device_bytes;
    switch (record->kind) {
    case ENGINE_RECORD_OP:
        put_slice(tid, record, "op", name);
        put_facts(record, site);
        put_c_string(",");
        put_state(record, error);
        break;
    case ENGINE_RECORD_START:
        put_async("b", tid, record, name);
        put_facts(record, site);
        break;
    case ENGINE_RECORD_END:
        put_async("e", tid, record, name);
        put_state(record, error);
        break;
    case ENGINE_RECORD_STARTED:
        put_slice(tid, record, "start", name);
        break;
    case ENGINE_RECORD_STEP:
        put_slice(tid, record, "step", name);
        put_facts(record, site);
        break;
    case ENGINE_RECORD_SHARE:
        put_slice(tid, record, "share", name);
        put_field("\"indices\":", record->read);
        break;
    case ENGINE_RECORD_WAIT:
        put_slice(tid, record, "wait", name);
        break;
    }
    put_c_string("}}");
}

void engine_timeline_file_sample(void) {
    neap_memory_stats memory;
    neap_engine_counts counts;
    neap_memory_get(&memory);
    neap_engine_count(&counts);
    uint64_t unfinished = counts.pushed > counts.completed ? counts.pushed - counts.completed : 0;
    int64_t now = engine_now();
    if ((memory.live_bytes != file.live || memory.pooled_bytes != file.pooled) && begin_event()) {
        put_event("C", 0, now);
        put_field(",\"name\":\"memory\",\"args\":{\"live\":", file.live = memory.live_bytes);
        put_field(",\"pooled\":", file.pooled = memory.pooled_bytes);
        put_c_string("}}");
    }
    if (unfinished != file.unfinished && begin_event()) {
        put_event("C", 0, now);
        put_field(",\"name\":\"ops\",\"args\":{\"unfinished\":", file.unfinished = unfinished);
        put_c_string("}}");
    }
}
