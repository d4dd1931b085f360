// System calls that Swift's C library modules lack or that differ by system, and the C library under one module name.
#ifndef FERRY_CSYSTEM_H
#define FERRY_CSYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#else
#include <sys/clonefile.h>

/// `ferry_reflink_open` on Darwin.
int ferry_clone(const char *source, const char *destination, mode_t mode);
#endif

/// `open` is variadic and `errno` a macro: Swift has both only in each system's own module.
static inline int ferry_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int ferry_errno(void) { return errno; }

/// Reads the names of a file's extended attributes, each with a NUL at its end; -1 and `errno` on failure.
static inline ssize_t ferry_listxattr(const char *path, char *names, size_t size) {
#ifdef __linux__
    return listxattr(path, names, size);
#else
    return listxattr(path, names, size, 0);
#endif
}

/// Reads the value of one extended attribute; -1 and `errno` on failure.
static inline ssize_t ferry_getxattr(const char *path, const char *name, void *value, size_t size) {
#ifdef __linux__
    return getxattr(path, name, value, size);
#else
    return getxattr(path, name, value, size, 0, 0);
#endif
}

/// Sets one extended attribute; -1 and `errno` on failure.
static inline int ferry_setxattr(const char *path, const char *name, const void *value, size_t size) {
#ifdef __linux__
    return setxattr(path, name, value, size, 0);
#else
    return setxattr(path, name, value, size, 0, 0);
#endif
}

/// Returns the `errno` for a missing extended attribute.
static inline int ferry_no_such_attribute(void) {
#ifdef __linux__
    return ENODATA;
#else
    return ENOATTR;
#endif
}

/// Makes `destination`, which must not exist, a copy-on-write copy of the content of `source`, which `in` has open.
///
/// Returns 0, or -1 and `errno`; a failure leaves no file.
static inline int ferry_reflink_open(int in, const char *source, const char *destination, mode_t mode) {
#ifdef __linux__
    (void)source;
    // FICLONE of <linux/fs.h>, which not every C library ships: _IOW(0x94, 9, int).
    const unsigned long ficlone = 0x40049409UL;
    int out = open(destination, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (out < 0) return -1;
    int result = ioctl(out, ficlone, in);
    int saved = errno;
    if (close(out) != 0 && result == 0) {
        result = -1;
        saved = errno;
    }
    if (result != 0) unlink(destination);
    errno = saved;
    return result;
#else
    (void)in;
    return ferry_clone(source, destination, mode);
#endif
}

/// Makes `destination`, which must not exist, a copy of the bytes of the file that `in` has open: a clone for tests.
///
/// Returns 0, or -1 and `errno`; a failure may leave a file.
int ferry_copy_open(int in, const char *destination, mode_t mode);

/// Returns the free bytes for unprivileged users on a path's volume; -1 and `errno` on failure.
int64_t ferry_free_bytes(const char *path);

/// Whether a path's volume is of a kind that has copy-on-write files; -1 and `errno` on failure.
int ferry_may_clone(const char *path);

/// Makes the content of a file durable, past the drive's cache; -1 and `errno` on failure.
int ferry_sync(int descriptor);

/// Makes every ferry_sync of the process succeed without a sync: for tests, before the first thread.
void ferry_leave_out_syncs(void);

// The kinds of files by their modes: each system's module imports these macros differently.
static inline int ferry_is_folder(mode_t mode) { return S_ISDIR(mode); }
static inline int ferry_is_regular(mode_t mode) { return S_ISREG(mode); }
static inline int ferry_is_link(mode_t mode) { return S_ISLNK(mode); }

/// The time of the last change of the content, in nanoseconds since 1970.
int64_t ferry_modified(const struct stat *info);

/// The time of the last change of content or attributes, in nanoseconds since 1970.
int64_t ferry_changed(const struct stat *info);

/// Renames a file to a name that must not exist; otherwise returns -1 and `EEXIST`.
///
/// Where the file system has no such call, the file has both names for a moment.
static inline int ferry_rename_to_free(const char *source, const char *destination) {
#ifdef __linux__
    // RENAME_NOREPLACE of <linux/fs.h>.
    int result = (int)syscall(SYS_renameat2, AT_FDCWD, source, AT_FDCWD, destination, 1U);
#else
    int result = renamex_np(source, destination, RENAME_EXCL);
#endif
    if (result == 0 || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)) return result;
    return link(source, destination) == 0 ? unlink(source) : -1;
}

/// Opens a folder; NULL and `errno` on failure.
void *ferry_open_folder(const char *path);

/// Returns the next name in a folder, without "." and ".."; NULL at the end, or on failure with `errno` other than 0.
///
/// Sets `is_folder` to 1 for a folder, else to 0.
const char *ferry_next_name(void *folder, int *is_folder);

void ferry_close_folder(void *folder);

/// Returns the nanoseconds of a monotonic clock that stops while the machine sleeps.
uint64_t ferry_uptime(void);

/// Writes a unique identifier of the system's session, as text that ends with a NUL; returns 0, or -1 without one.
int ferry_session(char *text, size_t size);

/// Returns the columns of a descriptor's terminal; 0 if it is not a terminal, or does not report them.
int ferry_terminal_columns(int descriptor);

/// Returns the resident bytes of this process, or only those that no file holds; -1 if the system does not report them.
int64_t ferry_resident_bytes(int only_own);

/// Says that the process runs Ferry alone: the C library then gives large blocks back to the system when they are freed,
/// and unused memory includes the program's pages.
void ferry_begin_program(void);

/// Blocks all signals on the calling thread.
void ferry_block_signals(void);

/// Returns unused memory to the system: freed memory that the C library keeps, and after ferry_begin_program() the
/// program's pages.
void ferry_release_unused_memory(void);

/// Lets the use of a page of the program map eight pages at most from now on, where the system maps sixteen; no effect
/// elsewhere than on Linux. It takes a millisecond or two.
void ferry_map_code_sparsely(void);

/// Starts a detached thread with a given stack size; returns 0 or an error number.
///
/// Uses the first 15 bytes of the name.
int ferry_start_thread(const char *name, size_t stack, void (*body)(void *), void *context);

/// Returns the free bytes of the calling thread's stack; SIZE_MAX if the system does not report them.
size_t ferry_stack_left(void);

/// Starts a program, which gets `descriptor` as `target`, and is without `other`.
///
/// Returns 0 or an error number.
int ferry_spawn(pid_t *child, const char *program, char *const arguments[], int descriptor, int target, int other);

/// Starts `/bin/sh -c command` with an environment. Its standard output is standard error, and signals have their default
/// effect there, whatever this process blocks or ignores.
///
/// Returns 0 or an error number.
int ferry_spawn_shell(pid_t *child, const char *command, char *const environment[]);

/// Returns the path of the running program without symbolic links, which the caller frees; NULL and `errno` on failure.
char *ferry_own_path(void);

#endif
