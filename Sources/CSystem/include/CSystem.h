// System calls that Swift's C library modules leave out, or that differ between glibc, musl and Darwin; and the C
// library itself, whose module has another name on each system: what imports this one has it too.
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

/// `ferry_reflink` of Darwin.
int ferry_clone(const char *source, const char *destination, mode_t mode);
#endif

/// `open` and `errno`, which Swift has only in the modules of each system: the one takes any number of arguments, the
/// other is a macro.
static inline int ferry_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }
static inline int ferry_errno(void) { return errno; }

/// The names of a file's extended attributes, each ended by a NUL; -1 and `errno` on failure.
static inline ssize_t ferry_listxattr(const char *path, char *names, size_t size) {
#ifdef __linux__
    return listxattr(path, names, size);
#else
    return listxattr(path, names, size, 0);
#endif
}

/// The value of one extended attribute; -1 and `errno` on failure.
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

/// The `errno` of a file that has no extended attribute of a name.
static inline int ferry_no_such_attribute(void) {
#ifdef __linux__
    return ENODATA;
#else
    return ENOATTR;
#endif
}

/// Makes `destination`, which must not exist, a copy-on-write copy of the content of `source`.
///
/// Returns 0, or -1 and `errno`: where the file system cannot do it, nothing is left behind.
static inline int ferry_reflink(const char *source, const char *destination, mode_t mode) {
#ifdef __linux__
    // FICLONE of <linux/fs.h>, which not every C library ships: _IOW(0x94, 9, int).
    const unsigned long ficlone = 0x40049409UL;
    int in = open(source, O_RDONLY | O_CLOEXEC);
    if (in < 0) return -1;
    int out = open(destination, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (out < 0) {
        int saved = errno;
        close(in);
        errno = saved;
        return -1;
    }
    int result = ioctl(out, ficlone, in);
    int saved = errno;
    close(in);
    if (close(out) != 0 && result == 0) {
        result = -1;
        saved = errno;
    }
    if (result != 0) unlink(destination);
    errno = saved;
    return result;
#else
    return ferry_clone(source, destination, mode);
#endif
}

/// Bytes that an unprivileged user can still write on the volume of a path; -1 and `errno` on failure.
int64_t ferry_free_bytes(const char *path);

/// Makes the content of a file durable, in the drive too; -1 and `errno` on failure.
int ferry_sync(int descriptor);

// The kinds of files by their modes: macros, of which each system's C library module for Swift makes something else.
static inline int ferry_is_folder(mode_t mode) { return S_ISDIR(mode); }
static inline int ferry_is_regular(mode_t mode) { return S_ISREG(mode); }
static inline int ferry_is_link(mode_t mode) { return S_ISLNK(mode); }

/// The time of the last change of the content, in nanoseconds since 1970.
int64_t ferry_modified(const struct stat *info);

/// The time of the last change of anything about the file, in nanoseconds since 1970.
int64_t ferry_changed(const struct stat *info);

/// Gives a file a new name that nothing has; -1 and `EEXIST` where something has it.
///
/// File systems that cannot do both at once look first, and then rename.
static inline int ferry_rename_to_free(const char *source, const char *destination) {
#ifdef __linux__
    // RENAME_NOREPLACE of <linux/fs.h>.
    int result = (int)syscall(SYS_renameat2, AT_FDCWD, source, AT_FDCWD, destination, 1U);
#else
    int result = renamex_np(source, destination, RENAME_EXCL);
#endif
    if (result == 0 || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)) return result;
    if (faccessat(AT_FDCWD, destination, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return errno == ENOENT ? rename(source, destination) : -1;
}

/// An open folder; NULL and `errno` on failure.
void *ferry_open_folder(const char *path);

/// The next name in a folder, without "." and ".."; NULL at its end, or on failure with `errno` other than 0.
///
/// `is_folder` becomes 1 for a folder, 0 for anything else.
const char *ferry_next_name(void *folder, int *is_folder);

void ferry_close_folder(void *folder);

/// Nanoseconds of a clock that only goes forward and stands while the machine sleeps, on every system.
uint64_t ferry_uptime(void);

/// What no other session of the machine has, as text that ends with a NUL; 0, or -1 where the system does not tell.
int ferry_session(char *text, size_t size);

/// The columns of the terminal that a descriptor is open on; 0 where there is none, or where it does not tell.
int ferry_terminal_columns(int descriptor);

/// Bytes of memory that this process holds now; -1 where the system does not tell.
int64_t ferry_resident_bytes(void);

/// Gives back what nothing uses at the moment: freed memory, where the C library does not do so by itself, and the
/// pages of code that has done its work, such as that of parsers.
void ferry_release_unused_memory(void);

/// Starts a thread that nothing waits for, with a stack of its own size; 0 or an error's number.
///
/// Darwin gives a thread 512 KiB otherwise, musl 128 KiB. Of its name the first 15 bytes count.
int ferry_start_thread(const char *name, size_t stack, void (*body)(void *), void *context);

/// Bytes that the calling thread's stack has left; SIZE_MAX where the system does not tell.
size_t ferry_stack_left(void);

/// Starts a program whose descriptor `target` is the given one, unless that is -1; `other` is closed there then.
///
/// Returns 0 or an error's number.
int ferry_spawn(pid_t *child, const char *program, char *const arguments[], int descriptor, int target, int other);

/// The path of the running program without symbolic links, to be freed; NULL and `errno` on failure.
char *ferry_own_path(void);

#endif
