// For glibc's declarations beyond POSIX.
#define _GNU_SOURCE

#include "CSystem.h"

#include <dirent.h>
#include <stdbool.h>

#ifdef __linux__
#include <sys/statvfs.h>
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

int64_t ferry_free_bytes(const char *path) {
    uint64_t blocks, size;
    int result;
#ifdef __linux__
    struct statvfs volume;
    do result = statvfs(path, &volume);
    while (result != 0 && errno == EINTR);
    blocks = volume.f_bavail;
    size = volume.f_frsize;
#else
    // Not statvfs: on Darwin its block counts have 32 bits, too few for volumes of 16 TiB and more.
    struct statfs volume;
    do result = statfs(path, &volume);
    while (result != 0 && errno == EINTR);
    blocks = volume.f_bavail;
    size = volume.f_bsize;
#endif
    if (result != 0) return -1;
    uint64_t bytes;
    return __builtin_mul_overflow(blocks, size, &bytes) || bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
}

int ferry_may_clone(const char *path) {
    struct statfs volume;
    int result;
    do result = statfs(path, &volume);
    while (result != 0 && errno == EINTR);
    if (result != 0) return -1;
#ifdef __linux__
    // The magic numbers of Btrfs, XFS and bcachefs in <linux/magic.h>.
    unsigned long type = (unsigned long)volume.f_type & 0xffffffffUL;
    return type == 0x9123683eUL || type == 0x58465342UL || type == 0xca451a4eUL;
#else
    return strcmp(volume.f_fstypename, "apfs") == 0;
#endif
}

static bool leavesOutSyncs;

void ferry_leave_out_syncs(void) { leavesOutSyncs = true; }

int ferry_sync(int descriptor) {
    if (leavesOutSyncs) return 0;
#ifdef __APPLE__
    // On Darwin fsync leaves bytes in the drive's cache. Only a volume without F_FULLFSYNC may use it.
    if (fcntl(descriptor, F_FULLFSYNC) != -1) return 0;
    if (errno != ENOTSUP && errno != ENOTTY && errno != EINVAL) return -1;
#endif
    return fsync(descriptor);
}

// A file's time may have any year; the results must only differ if the times do, so that overflows may wrap.
static int64_t nanoseconds(struct timespec time) {
    return (int64_t)((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
}

int64_t ferry_modified(const struct stat *info) {
#ifdef __APPLE__
    return nanoseconds(info->st_mtimespec);
#else
    return nanoseconds(info->st_mtim);
#endif
}

int64_t ferry_changed(const struct stat *info) {
#ifdef __APPLE__
    return nanoseconds(info->st_ctimespec);
#else
    return nanoseconds(info->st_ctim);
#endif
}

void *ferry_open_folder(const char *path) { return opendir(path); }

const char *ferry_next_name(void *folder, int *is_folder) {
    const struct dirent *entry;
    do {
        errno = 0;
        if ((entry = readdir(folder)) == NULL) return NULL;
    } while (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    *is_folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {
        struct stat info;
        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return NULL;
        *is_folder = S_ISDIR(info.st_mode);
    }
    return entry->d_name;
}

void ferry_close_folder(void *folder) { (void)closedir(folder); }

int ferry_copy_open(int in, const char *destination, mode_t mode) {
    char buffer[1 << 16];
    int out = open(destination, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (out < 0) return -1;
    ssize_t count;
    for (off_t offset = 0; (count = pread(in, buffer, sizeof buffer, offset)) > 0; offset += count) {
        if (pwrite(out, buffer, (size_t)count, offset) != count) {
            count = -1;
            break;
        }
    }
    int saved = errno;
    close(out);
    errno = saved;
    return count < 0 ? -1 : 0;
}

#ifdef __APPLE__
/// Removes everything that a clone copies besides the content, so that copies are equal on every system.
static int strip(const char *path, mode_t mode) {
    // Flags first: an immutable file allows no other change.
    if (chflags(path, 0) != 0 && errno != ENOTSUP) return -1;
    // The size of all names.
    ssize_t size = listxattr(path, NULL, 0, 0);
    if (size > 0) {
        char *names = malloc((size_t)size);
        if (names == NULL) return -1;
        size = listxattr(path, names, (size_t)size, 0);
        for (ssize_t place = 0; place < size; place += (ssize_t)strlen(names + place) + 1) {
            // Attributes that only the system sets stay.
            (void)removexattr(path, names + place, 0);
        }
        free(names);
    }
    if (size < 0 && errno != ENOTSUP) return -1;
    return chmod(path, mode);
}

int ferry_clone(const char *source, const char *destination, mode_t mode) {
    // Without the owner, if the system supports that.
    uint32_t flags = 0;
#ifdef CLONE_NOOWNERCOPY
    flags |= CLONE_NOOWNERCOPY;
#endif
    if (clonefile(source, destination, flags) != 0) return -1;
    if (strip(destination, mode) == 0) return 0;
    int saved = errno;
    unlink(destination);
    errno = saved;
    return -1;
}
#endif
