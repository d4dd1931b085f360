// For glibc's declarations beyond POSIX.
#define _GNU_SOURCE

#include "CSystem.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>

#ifdef __APPLE__
#include <TargetConditionals.h>
#include <crt_externs.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <sys/sysctl.h>
#else
extern char **environ;

/// Reads the start of a file as text that ends with a NUL; -1 on failure.
static int read_text(const char *path, char *text, size_t size) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    ssize_t count = read(descriptor, text, size - 1);
    close(descriptor);
    if (count <= 0) return -1;
    text[count] = 0;
    return 0;
}
#endif

uint64_t ferry_uptime(void) {
    struct timespec time = {0};
#ifdef __APPLE__
    // On Darwin CLOCK_MONOTONIC counts sleep, on Linux it does not.
    clock_gettime(CLOCK_UPTIME_RAW, &time);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int ferry_session(char *text, size_t size) {
#ifdef __APPLE__
    size_t count = size;
    if (sysctlbyname("kern.bootsessionuuid", text, &count, NULL, 0) != 0 || count < 2) return -1;
    text[count < size ? count : size - 1] = 0;
    return 0;
#else
    if (read_text("/proc/sys/kernel/random/boot_id", text, size) != 0) return -1;
    text[strcspn(text, "\n")] = 0;
    return 0;
#endif
}

int ferry_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int64_t ferry_resident_bytes(int only_own) {
#ifdef __APPLE__
    struct task_vm_info information;
    mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
    kern_return_t result = task_info(mach_task_self(), TASK_VM_INFO, (task_info_t)&information, &count);
    if (result != KERN_SUCCESS) return -1;
    return (int64_t)(only_own ? information.phys_footprint : information.resident_size);
#else
    char text[256];
    if (read_text("/proc/self/statm", text, sizeof text) != 0) return -1;
    // The second number is resident pages, the third those of them that belong to files.
    char *rest;
    (void)strtoll(text, &rest, 10);
    long long pages = strtoll(rest, &rest, 10);
    if (only_own) pages -= strtoll(rest, &rest, 10);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
#endif
}

void ferry_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
}

/// The arguments of a new thread.
struct start {
    void (*body)(void *);
    void *context;
    // The maximum length on Linux.
    char name[16];
};

static void *begin(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    // For debuggers and for `ps`; nothing depends on it.
#ifdef __APPLE__
    (void)pthread_setname_np(start.name);
#else
    (void)pthread_setname_np(pthread_self(), start.name);
#endif
    start.body(start.context);
    return NULL;
}

int ferry_start_thread(const char *name, size_t stack, void (*body)(void *), void *context) {
    struct start *start = malloc(sizeof *start);
    if (start == NULL) return ENOMEM;
    *start = (struct start){body, context, {0}};
    strncpy(start->name, name, sizeof start->name - 1);
    pthread_attr_t attributes;
    int code = pthread_attr_init(&attributes);
    if (code == 0) {
        pthread_t thread;
        code = pthread_attr_setstacksize(&attributes, stack);
        if (code == 0) code = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (code == 0) code = pthread_create(&thread, &attributes, begin, start);
        pthread_attr_destroy(&attributes);
    }
    if (code != 0) free(start);
    return code;
}

/// The fixed end of the calling thread's stack; 0 before the first call.
static _Thread_local uintptr_t stack_end;

size_t ferry_stack_left(void) {
    if (stack_end == 0) {
#ifdef __APPLE__
        pthread_t thread = pthread_self();
        stack_end = (uintptr_t)pthread_get_stackaddr_np(thread) - pthread_get_stacksize_np(thread);
#else
        pthread_attr_t attributes;
        void *low;
        size_t size;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return SIZE_MAX;
        const int code = pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_destroy(&attributes);
        if (code != 0) return SIZE_MAX;
        stack_end = (uintptr_t)low;
#endif
    }
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return here > stack_end ? here - stack_end : 0;
}

int ferry_spawn(pid_t *child, const char *program, char *const arguments[], int descriptor, int target, int other) {
#if defined(__APPLE__) && !TARGET_OS_OSX
    // iOS apps may not start programs, and Ferry's library does not.
    (void)child, (void)program, (void)arguments, (void)descriptor, (void)target, (void)other;
    return ENOSYS;
#else
#ifdef __APPLE__
    // A library on Darwin may not use `environ`.
    char **environment = *_NSGetEnviron();
#else
    char **environment = environ;
#endif
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    code = posix_spawn_file_actions_adddup2(&actions, descriptor, target);
    if (code == 0) code = posix_spawn_file_actions_addclose(&actions, other);
    if (code == 0) code = posix_spawn_file_actions_addclose(&actions, descriptor);
    if (code == 0) code = posix_spawn(child, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    return code;
#endif
}

int ferry_spawn_shell(pid_t *child, const char *command, char *const environment[]) {
#if defined(__APPLE__) && !TARGET_OS_OSX
    (void)child, (void)command, (void)environment;
    return ENOSYS;
#else
    char *const arguments[] = {"sh", "-c", (char *)command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    // These two cannot be set.
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    code = posix_spawnattr_setsigmask(&attributes, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(&attributes, &all);
    // The command and its children can be ended together.
    if (code == 0) code = posix_spawnattr_setpgroup(&attributes, 0);
    const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    if (code == 0) code = posix_spawnattr_setflags(&attributes, flags);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (code == 0) code = posix_spawn(child, "/bin/sh", &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
#endif
}

char *ferry_own_path(void) {
#ifdef __APPLE__
    char path[PATH_MAX];
    uint32_t size = sizeof path;
    if (_NSGetExecutablePath(path, &size) != 0) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return realpath(path, NULL);
#else
    return realpath("/proc/self/exe", NULL);
#endif
}
