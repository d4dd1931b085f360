#define _GNU_SOURCE  // nftw
#include "cfloor.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// nftw has no argument for its caller; the program measures one command at a time.
static int64_t folder_bytes;

static int add_file(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)path;
    (void)place;
    // Each link of a file counts as its share: a hard link beside a file takes no space.
    if (kind == FTW_F) folder_bytes += (int64_t)status->st_blocks * 512 / (int64_t)(status->st_nlink ? status->st_nlink : 1);
    return 0;
}

int64_t cfloor_folder_bytes(const char *path) {
    folder_bytes = 0;
    // Files come and go during the walk; what could be read counts.
    nftw(path, add_file, 16, FTW_PHYS);
    return folder_bytes;
}

// A finished process keeps these counts until it is waited for.
static void read_io(pid_t child, struct cfloor_usage *usage) {
    usage->read_bytes = usage->written_bytes = -1;
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/%d/io", (int)child);
    FILE *file = fopen(path, "r");
    if (!file) return;
    long long number;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "rchar: %lld", &number) == 1) usage->read_bytes = number;
        if (sscanf(line, "wchar: %lld", &number) == 1) usage->written_bytes = number;
    }
    fclose(file);
}

// Writes what the program has said, each line after the time since the start; returns false at the end.
static bool relay(int input, FILE *output, double start, bool *is_inside) {
    char bytes[65536];
    ssize_t count = read(input, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) return true;
    if (count <= 0) return false;
    double time = now() - start;
    for (ssize_t place = 0; place < count;) {
        if (!*is_inside) fprintf(output, "%.3f ", time);
        const char *end = memchr(bytes + place, '\n', (size_t)(count - place));
        size_t length = end ? (size_t)(end + 1 - (bytes + place)) : (size_t)(count - place);
        fwrite(bytes + place, 1, length, output);
        *is_inside = !end;
        place += (ssize_t)length;
    }
    return true;
}

int cfloor_measure(const char *const *words, const char *output, const char *errors, const char *folder, double limit,
                   struct cfloor_usage *usage) {
    int ends[2];
    if (pipe(ends)) return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    pid_t child = 0;
    int code = posix_spawn_file_actions_init(&actions);
    if (code) return -1;
    code = posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (!code) code = posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    int64_t before = cfloor_folder_bytes(folder);
    double start = now();
    if (!code) code = posix_spawn(&child, words[0], &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *lines = code ? NULL : fopen(errors, "w");
    if (!lines) {
        close(ends[0]);
        if (child) waitpid(child, NULL, 0);
        return -1;
    }
    bool is_inside = false;
    usage->folder_bytes = 0;
    // The end of the pipe is the end of the program, which has no children that outlive it.
    for (double looked = 0;;) {
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        int ready = poll(&wait, 1, 20);
        if (ready > 0 && !relay(ends[0], lines, start, &is_inside)) break;
        double time = now();
        if (time - start > limit) kill(child, SIGKILL);
        if (time - looked < 0.02) continue;
        int64_t more = cfloor_folder_bytes(folder) - before;
        if (more > usage->folder_bytes) usage->folder_bytes = more;
        looked = now();
    }
    fclose(lines);
    close(ends[0]);
    siginfo_t information;
    while (waitid(P_PID, (id_t)child, &information, WEXITED | WNOWAIT) < 0)
        if (errno != EINTR) return -1;
    usage->seconds = now() - start;
    read_io(child, usage);
    int status = 0;
    struct rusage resources;
    while (wait4(child, &status, 0, &resources) < 0)
        if (errno != EINTR) return -1;
#ifdef __APPLE__
    usage->peak_bytes = resources.ru_maxrss;
#else
    usage->peak_bytes = (int64_t)resources.ru_maxrss * 1024;
#endif
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
