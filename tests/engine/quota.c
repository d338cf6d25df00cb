/* quota.c: the CPU quota of control groups, in trees of files that stand for those of machines and containers: both
 * versions, groups in groups, mounts that begin in the middle, and what is no quota. */
#include "engine/quota.h"
#include "tests/check.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/neap-quota-XXXXXX";

/* Writes a file below the root, with its folders. */
static void put(const char *path, const char *text) {
    char whole[1024];
    size_t begin = strlen(root);
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + begin + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    if (!CHECK(file != NULL))
        return;
    fputs(text, file);
    fclose(file);
}

static void clear(void) {
    char line[256];
    snprintf(line, sizeof line, "rm -rf '%s/proc' '%s/sys' '%s/a place'", root, root, root);
    CHECK_EQ(system(line), 0);
}

/* The process's group, and one mount beside others. */
static void place(const char *groups, const char *mount) {
    char text[1024];
    clear();
    put("/proc/self/cgroup", groups);
    snprintf(text, sizeof text,
             "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n24 22 0:5 / /proc rw - proc proc rw\n%s\n", mount);
    put("/proc/self/mountinfo", text);
}

static engine_quota read_all(void) {
    engine_quota found;
    engine_quota_read(root, &found);
    return found;
}

static const char *const UNIFIED =
    "31 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate";

static void unified(void) {
    place("0::/\n", UNIFIED);
    CHECK_EQ(read_all().cpus, 0); /* no file */
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    CHECK_EQ(read_all().cpus, 0);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK_EQ(read_all().cpus, 2);
    put("/sys/fs/cgroup/cpu.max", "200001 100000\n");
    engine_quota found = read_all();
    CHECK_EQ(found.cpus, 3);
    CHECK_EQ(found.quota, 200001);
    CHECK_EQ(found.period, 100000);
    CHECK_EQ(strcmp(found.file, "/sys/fs/cgroup/cpu.max"), 0);
    put("/sys/fs/cgroup/cpu.max", "1000 100000\n");
    CHECK_EQ(read_all().cpus, 1);
    put("/sys/fs/cgroup/cpu.max", "9000000000000000000 1\n");
    CHECK_EQ(read_all().cpus, INT_MAX);
}

/* Each group around the process's counts; the least does. */
static void nested(void) {
    place("0::/jobs/train/step 1\n", UNIFIED);
    put("/sys/fs/cgroup/jobs/train/step 1/cpu.max", "800000 100000\n");
    CHECK_EQ(read_all().cpus, 8);
    put("/sys/fs/cgroup/jobs/train/cpu.max", "max 100000\n");
    CHECK_EQ(read_all().cpus, 8);
    put("/sys/fs/cgroup/jobs/cpu.max", "150000 50000\n");
    engine_quota found = read_all();
    CHECK_EQ(found.cpus, 3);
    CHECK_EQ(strcmp(found.file, "/sys/fs/cgroup/jobs/cpu.max"), 0);
    put("/sys/fs/cgroup/cpu.max", "1600000 100000\n");
    CHECK_EQ(read_all().cpus, 3);
    put("/sys/fs/cgroup/jobs/train/step 1/cpu.max", "50000 50000\n");
    CHECK_EQ(read_all().cpus, 1);
}

/* A container sees its own group at the mount, whether the group's name is that of the machine or not. */
static void containers(void) {
    const char *mount = "31 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
    static const char *const groups[] = {"0::/docker/abc\n", "0::/\n", "0::/../../else\n", "0::/docker/abcdef\n"};
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++) {
        place(groups[k], mount);
        put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
        CHECK_EQ(read_all().cpus, 3);
    }
    place("0::/docker/abc/inner\n", mount);
    put("/sys/fs/cgroup/inner/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    CHECK_EQ(read_all().cpus, 1);
    place("0::/\n", "31 22 0:26 / /a\\040place rw - cgroup2 cgroup rw");
    put("/a place/cpu.max", "250000 100000\n");
    CHECK_EQ(read_all().cpus, 3);
}

/* Version 1, also beside version 2, which then has no cpu.max, or another limit. */
static void version_one(void) {
    const char *mount = "30 22 0:25 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                        "32 22 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpuacct,cpu\n"
                        "33 22 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
    place("9:cpuset:/other\n4:cpuacct,cpu:/jobs/train\n0::/user\n", mount);
    CHECK_EQ(read_all().cpus, 0);
    put("/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_period_us", "100000\n");
    CHECK_EQ(read_all().cpus, 0);
    put("/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_quota_us", "350000\n");
    engine_quota found = read_all();
    CHECK_EQ(found.cpus, 4);
    CHECK_EQ(strcmp(found.file, "/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_quota_us"), 0);
    put("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us", "100000\n"); /* without a period */
    CHECK_EQ(read_all().cpus, 4);
    put("/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us", "50000\n");
    CHECK_EQ(read_all().cpus, 2);
    put("/sys/fs/cgroup/unified/user/cpu.max", "60000 100000\n");
    CHECK_EQ(read_all().cpus, 1);
}

/* What is no quota, or in no form that is known, limits nothing. */
static void not_quotas(void) {
    clear();
    CHECK_EQ(read_all().cpus, 0);
    static const char *const texts[] = {
        "", "\n", "max\n", "200000\n", "two 100000\n", "-1 100000\n", "0 100000\n", "200000 0\n", "200000 -5\n"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        place("0::/\n", UNIFIED);
        put("/sys/fs/cgroup/cpu.max", texts[k]);
        CHECK_EQ(read_all().cpus, 0);
    }
    static const char *const groups[] = {"", "0\n", "0:\n", "::::\n", "0:cpux:/\n", "nonsense\n"};
    for (size_t k = 0; k < sizeof groups / sizeof groups[0]; k++) {
        place(groups[k], UNIFIED);
        put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
        CHECK_EQ(read_all().cpus, 0);
    }
    static const char *const mounts[] = {"", "31", "31 22 0:26 / /sys/fs/cgroup rw - cgroup2", "- - - - - - -",
                                         "31 22 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw,cpuset"};
    for (size_t k = 0; k < sizeof mounts / sizeof mounts[0]; k++) {
        place("0::/\n4:cpu:/\n", mounts[k]);
        put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
        CHECK_EQ(read_all().cpus, 0);
    }
}

int main(void) {
    if (!CHECK(mkdtemp(root) != NULL))
        return check_end();
    unified();
    nested();
    containers();
    version_one();
    not_quotas();
    clear();
    rmdir(root);
    return check_end();
}
