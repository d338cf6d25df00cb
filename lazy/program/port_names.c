/* program/port_names.c: the inputs and outputs of a program: what they are, and their names. */
#include <stdio.h>
#include <string.h>

#include "lazy/program/program.h"

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_name(const char *name) {
    if (!*name)
        return neap_error(NEAP_E_ARGUMENT, "program: a name of an input or output is empty");
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return neap_error(NEAP_E_ARGUMENT, "program: a name of an input or output holds a control character");
    return 0;
}

/* Is every name there once? */
static int check_names(int n, const char *const *names) {
    const char **sorted = malloc((size_t)n * sizeof *sorted + 1);
    int status = sorted ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for %d names", n);
    for (int k = 0; k < n && status == 0; k++) {
        sorted[k] = names[k];
        status = check_name(names[k]);
    }
    if (status == 0)
        qsort(sorted, (size_t)n, sizeof *sorted, compare_names);
    for (int k = 1; k < n && status == 0; k++)
        if (strcmp(sorted[k - 1], sorted[k]) == 0)
            status = neap_error(NEAP_E_ARGUMENT, "program: two inputs or two outputs have the name '%s'", sorted[k]);
    free(sorted);
    return status;
}

int neap_program_rename(neap_program *program, int outputs, int n, const char *const *names) {
    lazy_port_names *to = outputs ? &program->output_names : &program->input_names;
    int64_t count = outputs ? program->outputs.n : program->inputs.n;
    if (n != count)
        return neap_error(NEAP_E_ARGUMENT, "program: expected %lld names, got %d", (long long)count, n);
    int status = check_names(n, names);
    if (status)
        return status;
    size_t bytes = (size_t)n * sizeof *to->at + 1;
    for (int k = 0; k < n; k++)
        bytes += strlen(names[k]) + 1;
    const char **at = malloc(bytes);
    if (!at)
        return neap_error(NEAP_E_MEMORY, "out of memory for %d names", n);
    char *text = (char *)(at + n);
    for (int k = 0; k < n; k++) {
        size_t length = strlen(names[k]) + 1;
        at[k] = memcpy(text, names[k], length);
        text += length;
    }
    free(to->at);
    to->at = at;
    return 0;
}

int neap_program_port(neap_program *program, int outputs, int k, neap_info *out, const char **name) {
    const lazy_nodes *ports = outputs ? &program->outputs : &program->inputs;
    const lazy_port_names *names = outputs ? &program->output_names : &program->input_names;
    if (k < 0 || k >= ports->n)
        return neap_error(NEAP_E_ARGUMENT, "program: there is no %s %d, there are %lld", outputs ? "output" : "input",
                          k + 1, (long long)ports->n);
    graph_node_info(ports->at[k], out);
    if (!outputs && out->weak && ports->at[k]->meets & LAZY_NUMBER_FRACTION)
        out->weak = 2;
    *name = names->at ? names->at[k] : NULL;
    return 0;
}
