#include "cfloor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int cfloor_run(const char *const *words, const char *output) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return -1;
    pid_t child = 0;
    int code = posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (!code) code = posix_spawn(&child, words[0], &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code) return -1;
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
