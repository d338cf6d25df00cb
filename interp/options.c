/* options.c: reads the command line. Options end at the script, at "-" or at "--"; what follows is the script's.
 *
 * An option is a row of `rows`: its name, what follows it, where that goes, and its lines of --help.
 */
#include "interp/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

enum { MAX_COUNT = 1024 };

typedef enum value_kind {
    FLAG,      /* nothing follows: sets a bool */
    COUNT,     /* an integer from 1 to MAX_COUNT: sets an int */
    SCHEDULER, /* a name: sets an int, NEAP_SCHEDULER_… */
    TEXT,      /* any text: sets a const char * */
    CODE,      /* any text: one more of options.first */
    LIBRARY    /* the same */
} value_kind;

typedef struct option_row {
    const char *name, *also; /* also: a short form, or NULL */
    value_kind kind;
    size_t offset;     /* of the member of `options` */
    const char *shown; /* the name with its value, for --help */
    const char *help;  /* a line each */
} option_row;

#define MEMBER(name) offsetof(options, name)
static const option_row rows[] = {
    {"-e", NULL, CODE, MEMBER(first), "-e CODE", "run CODE, then the script if there is one"},
    {"-l", NULL, LIBRARY, MEMBER(first), "-l NAME", "require library NAME; in the order of -e and -l"},
    {"-i", NULL, FLAG, MEMBER(prompt), "-i", "show the prompt after the script or CODE"},
    {"--html", NULL, FLAG, MEMBER(html), "--html",
     "run the script, or notebook, and write it as a page, SCRIPT.html in\n"
     "this folder: its comments of Markdown, its code, what it prints and\n"
     "shows"},
    {"--no-startup", NULL, FLAG, MEMBER(no_startup), "--no-startup", "at the prompt: do not run the start-up file"},
    {"--strict", NULL, FLAG, MEMBER(strict), "--strict",
     "reading a global variable that has no value is an error, as at the\n"
     "prompt; in all modules, too"},
    {"--devices", NULL, COUNT, MEMBER(devices), "--devices N",
     "use N CPU devices (default 1; under mpirun: in each process)"},
    {"--device", NULL, TEXT, MEMBER(device), "--device KIND",
     "compute on devices of another kind, such as cuda; --devices says on\n"
     "how many (default: the environment's NEAP_DEVICE, else cpu)"},
    {"--gpu", NULL, FLAG, MEMBER(gpu), "--gpu", "compute on GPUs: --device cuda"},
    {"--workers", NULL, COUNT, MEMBER(workers), "--workers N",
     "use N worker threads (default: the environment's NEAP_WORKERS, else\n"
     "one per core, within the CPU quota)"},
    {"--scheduler", NULL, SCHEDULER, MEMBER(scheduler), "--scheduler S",
     "how work is given to threads: pool (default), device (threads for\n"
     "each device), naive (no threads: everything at once, in order)"},
    {"--shuffle", NULL, COUNT, MEMBER(shuffle), "--shuffle SEED",
     "run what is ready in a random order, to find hidden orders"},
    {"--tier", NULL, TEXT, MEMBER(tier), "--tier T",
     "whether kernels become native code: auto, when it pays (default);\n"
     "vm, never; native, before they first run, which waits for it\n"
     "(default: the environment's NEAP_TIER)"},
    {"--trace", NULL, TEXT, MEMBER(trace), "--trace FILE",
     "write a timeline of all operations to FILE, for ui.perfetto.dev"},
    {"--restart", NULL, COUNT, MEMBER(restart), "--restart N",
     "run the COMMAND that follows, such as mpirun with its words, and\n"
     "start it anew, at most N times, when it has failed"},
    {"--hosts", NULL, TEXT, MEMBER(hosts), "--hosts A,B",
     "with --restart: the hosts that {hosts} in COMMAND stands for; such\n"
     "as do not answer are left out"},
    {"--reach", NULL, TEXT, MEMBER(reach), "--reach CMD",
     "with --hosts: CMD HOST true tells whether HOST is there (default:\n"
     "ssh -o BatchMode=yes -o ConnectTimeout=5)"},
    {"--version", "-v", FLAG, MEMBER(version), "--version", "print the version and exit"},
    {"--help", "-h", FLAG, MEMBER(help), "--help", "print this text and exit"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void print_help_row(FILE *to, const char *shown, const char *help) {
    fprintf(to, "  %-14s ", shown);
    for (; *help; help++) {
        fputc(*help, to);
        if (*help == '\n')
            fprintf(to, "%17s", "");
    }
    fputc('\n', to);
}

void options_print_help(FILE *to) {
    fputs("usage: neap [options] [script.lua [arguments]]\n"
          "       neap --restart N [--hosts A,B,...] COMMAND...\n"
          "       neap doctor\n"
          "       neap kernel install|run\n"
          "\n"
          "Without a script: the prompt, or the program on standard input when that is not a terminal.\n"
          "\n",
          to);
    for (int k = 0; k < ROWS; k++)
        print_help_row(to, rows[k].shown, rows[k].help);
    print_help_row(to, "-", "read the script from standard input");
    print_help_row(to, "--", "end the options");
    print_help_row(to, "doctor", "report what neap found on this machine");
    print_help_row(to, "kernel", "install or run the kernel for Jupyter (neap kernel tells more)");
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */
static int parse_count(const char *option, const char *text, int *out) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < 1 || value > MAX_COUNT) {
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

/* value: NULL for a flag. */
static int set_option(const option_row *row, const char *value, options *out) {
    void *member = (char *)out + row->offset;
    switch (row->kind) {
    case FLAG:
        *(bool *)member = true;
        return 0;
    case COUNT:
        return parse_count(row->name, value, member);
    case SCHEDULER:
        return parse_scheduler(value, member);
    case TEXT:
        *(const char **)member = value;
        return 0;
    case CODE:
    case LIBRARY:
        out->ncode += row->kind == CODE;
        out->first[out->nfirst++] = (options_first){value, row->kind == LIBRARY};
        return 0;
    }
    return -1;
}

/* ---- The command line -------------------------------------------------------------------------------------------- */
/* The row of a word, and the value that stands in it: behind "=", or behind the letter of a short option; or NULL. */
static const option_row *find_option(const char *word, const char **value) {
    for (int k = 0; k < ROWS; k++) {
        size_t length = strlen(rows[k].name);
        *value = NULL;
        if (strcmp(word, rows[k].name) == 0 || (rows[k].also && strcmp(word, rows[k].also) == 0))
            return &rows[k];
        bool is_short = length == 2;
        if (rows[k].kind != FLAG && strncmp(word, rows[k].name, length) == 0 && (is_short || word[length] == '=')) {
            *value = word + length + !is_short;
            return &rows[k];
        }
    }
    return NULL;
}

/* Reads the option at argv[*k] and moves *k to its last word. */
static int parse_option(int argc, char **argv, int *k, options *out) {
    const char *value;
    const option_row *row = find_option(argv[*k], &value);
    if (!row) {
        fprintf(stderr, "neap: unknown option '%s' (neap --help lists them)\n", argv[*k]);
        return -1;
    }
    if (row->kind != FLAG && !value) {
        if (*k + 1 >= argc) {
            fprintf(stderr, "neap: %s wants a value\n", row->name);
            return -1;
        }
        value = argv[++*k];
    }
    return set_option(row, value, out);
}

/* Whether the options that have come fit to --restart, or to its absence; told, if not. */
static bool check_restart(const options *out) {
    if (out->restart == 0) {
        if (out->hosts || out->reach)
            fprintf(stderr, "neap: %s wants --restart N\n", out->hosts ? "--hosts" : "--reach");
        return !out->hosts && !out->reach;
    }
    bool others = out->nfirst || out->prompt || out->html || out->no_startup || out->strict || out->gpu ||
                  out->workers || out->scheduler || out->shuffle || out->trace;
    if (others)
        fprintf(stderr, "neap: --restart takes --hosts, --reach and --devices beside it; other options are for the "
                        "neap of its command\n");
    else if (out->script == 0)
        fprintf(stderr, "neap: --restart wants a command: neap --restart 3 mpirun -n 4 neap script.lua\n");
    return !others && out->script > 0;
}

int options_parse(int argc, char **argv, options *out) {
    *out = (options){.device = getenv("NEAP_DEVICE"),
                     .tier = getenv("NEAP_TIER"),
                     .first = calloc((size_t)argc + 1, sizeof *out->first)};
    if (!out->first) {
        fprintf(stderr, "neap: out of memory\n");
        return -1;
    }
    int k = 1;
    for (; k < argc && argv[k][0] == '-' && argv[k][1]; k++) {
        if (strcmp(argv[k], "--") == 0) {
            k++;
            break;
        }
        if (parse_option(argc, argv, &k, out) < 0)
            return -1;
    }
    if (out->gpu)
        out->device = "cuda";
    if (k < argc && out->restart) {
        out->script = k;
    } else if (k < argc && k == 1 && strcmp(argv[k], "doctor") == 0) {
        out->doctor = true;
        if (argc > 2) {
            fprintf(stderr, "neap: doctor takes no arguments\n");
            return -1;
        }
    } else if (k < argc && strcmp(argv[k], "kernel") == 0) {
        out->kernel = k + 1;
    } else if (k < argc) {
        out->script = k;
    }
    if (out->html && (out->script == 0 || strcmp(argv[out->script], "-") == 0 || out->prompt || out->nfirst)) {
        fprintf(stderr, "neap: --html wants the name of a script, and neither -i nor -e nor -l\n");
        return -1;
    }
    return out->help || out->version || check_restart(out) ? 0 : -1;
}

void options_free(options *options) {
    free(options->first);
    options->first = NULL;
}
