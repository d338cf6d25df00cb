/* options.h: the command line of neap. */
#ifndef INTERP_OPTIONS_H
#define INTERP_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

typedef struct options_first { /* BORROWED from argv */
    const char *text;
    bool library; /* the text is the name of one, else it is code */
} options_first;

typedef struct options {
    int devices, workers; /* 0: not given */
    const char *device;   /* the kind of device to compute on, NULL: the CPU. BORROWED from argv or the environment */
    int scheduler;        /* NEAP_SCHEDULER_… */
    int shuffle;          /* seed; 0: not given */
    bool gpu;             /* the device is "cuda" */
    const char *tier;     /* whether kernels become native code; NULL: when it pays. BORROWED as `device` */
    int restart;          /* how often the command behind the options is started anew; 0: there is none */
    const char *hosts;    /* of that command, with commas, NULL: not told. BORROWED from argv */
    const char *reach;    /* the command that asks whether a host is there, NULL: ssh. BORROWED from argv */
    const char *trace;    /* the file for the timeline, NULL: none. BORROWED from argv */
    bool prompt;          /* -i */
    bool html;            /* the script becomes a page */
    bool no_startup;      /* the prompt runs no start-up file */
    bool strict;          /* reading an undefined global variable is an error */
    bool version, help, doctor;
    int kernel;           /* index of the word behind "kernel" in argv; 0: no kernel */
    int script;           /* index of the script, or of --restart's command, in argv; 0: none. "-": standard input */
    int ncode;            /* number of -e options */
    int nfirst;           /* number of -e and -l options */
    options_first *first; /* these, in order: what runs before the script. OWNED */
} options;

/* Reads argv. Returns 0, or -1 after one line on stderr that says what is wrong. */
int options_parse(int argc, char **argv, options *out);
void options_free(options *options);
/* Writes the text of --help. */
void options_print_help(FILE *to);

#endif
