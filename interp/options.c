/* options.c: reads the command line. Options end at the script, at "-" or at "--"; what follows is the script's. */
#include "interp/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

const char options_help[] =
    "usage: neap [options] [script.lua [arguments]]\n"
    "       neap doctor\n"
    "\n"
    "Without a script: the prompt, or the program on standard input when that is not a terminal.\n"
    "\n"
    "  -e CODE        run CODE, then the script if there is one\n"
    "  -i             show the prompt after the script or CODE\n"
    "  --devices N    use N CPU devices (default 1; under mpirun: in each process)\n"
    "  --workers N    use N worker threads (default: one per core)\n"
    "  --scheduler S  how work is given to threads: pool (default), device (threads for\n"
    "                 each device), naive (no threads: everything at once, in order)\n"
    "  --shuffle SEED run what is ready in a random order, to find hidden orders\n"
    "  --trace FILE   write a timeline of all operations to FILE, for ui.perfetto.dev\n"
    "  --version      print the version and exit\n"
    "  --help         print this text and exit\n"
    "  -              read the script from standard input\n"
    "  --             end the options\n"
    "  doctor         report what neap found on this machine\n";

enum { MAX_COUNT = 1024 };

/* A count after an option, from 1 to MAX_COUNT. */
static int parse_count(const char *option, const char *text, int *out) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > MAX_COUNT) {
        fprintf(stderr, "neap: %s wants a number from 1 to %d, not '%s'\n", option, MAX_COUNT, text);
        return -1;
    }
    *out = (int)value;
    return 0;
}

static int parse_scheduler(const char *text, int *out) {
    static const char *const names[] = {
        [NEAP_SCHEDULER_POOL] = "pool", [NEAP_SCHEDULER_NAIVE] = "naive", [NEAP_SCHEDULER_DEVICE] = "device"};
    for (int k = 0; k < (int)(sizeof names / sizeof names[0]); k++) {
        if (strcmp(text, names[k]) == 0) {
            *out = k;
            return 0;
        }
    }
    fprintf(stderr, "neap: --scheduler wants pool, device or naive, not '%s'\n", text);
    return -1;
}

/* If argv[*k] is `name VALUE` or `name=VALUE`: points *value at it, moves *k to its last word and returns 1. Returns 0
 * for another option, -1 if the value is missing. */
static int option_value(int argc, char **argv, int *k, const char *name, const char **value) {
    size_t length = strlen(name);
    if (strncmp(argv[*k], name, length) != 0) {
        return 0;
    }
    if (argv[*k][length] == '=' && name[1] == '-') {
        *value = argv[*k] + length + 1;
        return 1;
    }
    if (argv[*k][length] != '\0') {
        return 0;
    }
    if (*k + 1 >= argc) {
        fprintf(stderr, "neap: %s wants a value\n", name);
        return -1;
    }
    *value = argv[++*k];
    return 1;
}

/* Handles options with a value. Returns as option_value. */
static int parse_valued(int argc, char **argv, int *k, options *out) {
    const char *value = NULL;
    int found = option_value(argc, argv, k, "--devices", &value);
    if (found != 0) {
        return found < 0 || parse_count("--devices", value, &out->devices) < 0 ? -1 : 1;
    }
    found = option_value(argc, argv, k, "--workers", &value);
    if (found != 0) {
        return found < 0 || parse_count("--workers", value, &out->workers) < 0 ? -1 : 1;
    }
    found = option_value(argc, argv, k, "--scheduler", &value);
    if (found != 0) {
        return found < 0 || parse_scheduler(value, &out->scheduler) < 0 ? -1 : 1;
    }
    found = option_value(argc, argv, k, "--shuffle", &value);
    if (found != 0) {
        return found < 0 || parse_count("--shuffle", value, &out->shuffle) < 0 ? -1 : 1;
    }
    found = option_value(argc, argv, k, "--trace", &value);
    if (found != 0) {
        out->trace = value;
        return found;
    }
    found = option_value(argc, argv, k, "-e", &value);
    if (found > 0) {
        out->code[out->ncode++] = value;
    }
    return found;
}

int options_parse(int argc, char **argv, options *out) {
    *out = (options){.code = calloc((size_t)argc + 1, sizeof(char *))};
    if (out->code == NULL) {
        fprintf(stderr, "neap: out of memory\n");
        return -1;
    }
    int k = 1;
    for (; k < argc && argv[k][0] == '-' && argv[k][1] != '\0'; k++) {
        const char *word = argv[k];
        if (strcmp(word, "--") == 0) {
            k++;
            break;
        }
        int found = parse_valued(argc, argv, &k, out);
        if (found < 0) {
            return -1;
        }
        if (found > 0) {
            continue;
        }
        if (strcmp(word, "-i") == 0) {
            out->prompt = true;
        } else if (strcmp(word, "--version") == 0 || strcmp(word, "-v") == 0) {
            out->version = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            out->help = true;
        } else {
            fprintf(stderr, "neap: unknown option '%s' (neap --help lists them)\n", word);
            return -1;
        }
    }
    if (k < argc && k == 1 && strcmp(argv[k], "doctor") == 0) {
        out->doctor = true;
        if (argc > 2) {
            fprintf(stderr, "neap: doctor takes no arguments\n");
            return -1;
        }
    } else if (k < argc) {
        out->script = k;
    }
    return 0;
}

void options_free(options *options) {
    free(options->code);
    options->code = NULL;
}
