/* quota.c: reads the CPU quota of the process's control groups.
 *
 *      /proc/self/cgroup       0::/jobs/train                        the group, in the tree of version 2
 *      /proc/self/mountinfo    … / /sys/fs/cgroup … - cgroup2 …      where this tree is
 *      /sys/fs/cgroup/jobs/train/cpu.max     max 100000              no limit
 *      /sys/fs/cgroup/jobs/cpu.max           150000 100000           1.5 CPUs, so two workers
 *
 * Version 1 has a tree for each controller: "4:cpu,cpuacct:/jobs/train", and cpu.cfs_quota_us with cpu.cfs_period_us in
 * each group. A machine may have both versions. The kernel holds a group to the quotas of all groups around it, so the
 * least one counts. A container may see less than the whole tree: its mount begins at the group that mountinfo names,
 * below which the group of /proc/self/cgroup stands, or the mount is the group itself.
 */
#include "engine/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 64 }; /* of a line of mountinfo; it has 10, and optional ones */

/* A tree of groups, and the group in it. */
typedef struct group_tree {
    bool unified; /* version 2 */
    char group[PATH_MAX];
    char folder[PATH_MAX]; /* where the group's files are */
    size_t top;            /* bytes of the folder above which there is nothing to see */
} group_tree;

static FILE *open_below(const char *root, const char *path) {
    char whole[2 * PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    return fopen(whole, "re");
}

/* Whether a list with commas has the word "cpu". */
static bool lists_cpu(const char *list) {
    for (const char *at = list; at && *at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strcspn(at, ",") == 3 && strncmp(at, "cpu", 3) == 0)
            return true;
    return false;
}

/* Copies a path; false where there is no room. */
static bool set_path(char *out, const char *first, const char *second) {
    return (size_t)snprintf(out, PATH_MAX, "%s%s", first, second) < PATH_MAX;
}

/* Finds the group in a line of /proc/self/cgroup, "NUMBER:CONTROLLERS:GROUP". */
static bool take_group(char *line, group_tree *tree) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return false;
    *group++ = '\0';
    bool fits = tree->unified ? strncmp(line, "0:", 2) == 0 && controllers[1] == '\0' : lists_cpu(controllers + 1);
    return fits && set_path(tree->group, group, "");
}

/* mountinfo writes a blank as \040, and so on. */
static void unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from; to++) {
        unsigned code;
        if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Finds the group's folder, if a line of mountinfo is that of its tree:
 * "ID PARENT DEVICE BEGINNING FOLDER OPTIONS … - TYPE SOURCE OPTIONS". */
static bool take_mount(char *line, group_tree *tree) {
    char *fields[FIELDS], *rest = NULL;
    int count = 0, dash = 0;
    for (char *at = strtok_r(line, " ", &rest); at && count < FIELDS; at = strtok_r(NULL, " ", &rest)) {
        dash = count >= 6 && dash == 0 && strcmp(at, "-") == 0 ? count : dash;
        fields[count++] = at;
    }
    if (dash == 0 || dash + 3 >= count)
        return false;
    bool fits = tree->unified ? strcmp(fields[dash + 1], "cgroup2") == 0
                              : strcmp(fields[dash + 1], "cgroup") == 0 && lists_cpu(fields[dash + 3]);
    if (!fits)
        return false;
    char *beginning = fields[3], *folder = fields[4];
    unescape(beginning);
    unescape(folder);
    size_t seen = strcmp(beginning, "/") == 0 ? 0 : strlen(beginning);
    const char *below = tree->group + seen;
    if (strncmp(tree->group, beginning, seen) != 0 || (*below != '/' && *below) || strcmp(below, "/") == 0)
        below = "";
    tree->top = strlen(folder);
    return set_path(tree->folder, folder, below);
}

/* Asks `take` about each line of a file, until it has found what it needs. */
static bool find_line(const char *root, const char *path, bool (*take)(char *line, group_tree *tree),
                      group_tree *tree) {
    FILE *file = open_below(root, path);
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    while (file && !found && getline(&line, &capacity, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        found = take(line, tree);
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

/* Reads up to two numbers from a file; returns how many there are. */
static int read_numbers(const char *root, const char *folder, const char *name, int64_t *numbers, char *path) {
    long long first = 0, second = 0;
    if (!set_path(path, folder, name))
        return 0;
    FILE *file = open_below(root, path);
    int count = file ? fscanf(file, "%lld %lld", &first, &second) : 0;
    if (file)
        fclose(file);
    numbers[0] = first;
    if (count == 2)
        numbers[1] = second;
    return count;
}

/* The quota of the group in this folder, if it is less than what is known. */
static void read_group(const char *root, const group_tree *tree, engine_quota *least) {
    int64_t numbers[2], period[2];
    char path[PATH_MAX], other[PATH_MAX];
    if (tree->unified) {
        if (read_numbers(root, tree->folder, "/cpu.max", numbers, path) < 2)
            return;
    } else {
        if (read_numbers(root, tree->folder, "/cpu.cfs_quota_us", numbers, path) < 1 ||
            read_numbers(root, tree->folder, "/cpu.cfs_period_us", period, other) < 1)
            return;
        numbers[1] = period[0];
    }
    if (numbers[0] < 1 || numbers[1] < 1)
        return;
    if (least->cpus && (double)numbers[0] / (double)numbers[1] >= (double)least->quota / (double)least->period)
        return;
    int64_t cpus = numbers[0] / numbers[1] + (numbers[0] % numbers[1] != 0);
    least->cpus = cpus < INT_MAX ? (int)cpus : INT_MAX;
    least->quota = numbers[0];
    least->period = numbers[1];
    memcpy(least->file, path, sizeof path);
}

void engine_quota_read(const char *root, engine_quota *out) {
    *out = (engine_quota){0};
    for (int unified = 0; unified < 2; unified++) {
        group_tree tree = {.unified = unified != 0};
        if (!find_line(root, "/proc/self/cgroup", take_group, &tree) ||
            !find_line(root, "/proc/self/mountinfo", take_mount, &tree))
            continue;
        for (;;) {
            read_group(root, &tree, out);
            char *last = strrchr(tree.folder, '/');
            if (!last || (size_t)(last - tree.folder) < tree.top)
                break;
            *last = '\0';
        }
    }
}
