// System calls that Swift's C library modules leave out or that differ between
// Linux and Darwin: extended attributes and copy-on-write copies.
#ifndef FERRY_CSYSTEM_H
#define FERRY_CSYSTEM_H

#include <errno.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <sys/xattr.h>

#ifdef __linux__
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <fcntl.h>
#include <stdio.h>
#include <sys/clonefile.h>
#include <unistd.h>
#endif

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

/// Makes `destination`, which must not exist, a copy-on-write copy of `source`.
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
    (void)mode;
    return clonefile(source, destination, 0);
#endif
}

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

/// The columns of the terminal that a descriptor is open on; 0 where there is none, or where it does not tell.
static inline int ferry_terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Gives back what nothing uses at the moment: freed memory, where the C library does not do so by itself, and the
/// pages of code that has done its work, such as that of parsers.
void ferry_release_unused_memory(void);

#endif
