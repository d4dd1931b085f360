// A file that stands before another one of SQLite's and passes every call on to it; what does something with some of the
// calls puts its own methods in their place.
#ifndef FERRY_CSQLITE_FILTER_H
#define FERRY_CSQLITE_FILTER_H

#include <sqlite3.h>
#include <string.h>

/// The head of every such file.
typedef struct {
    sqlite3_file base;
    sqlite3_io_methods methods;
    sqlite3_file *inner;
} ferry_filter_file;

static inline sqlite3_file *ferry_inner(sqlite3_file *file) { return ((ferry_filter_file *)file)->inner; }

static int ferry_pass_close(sqlite3_file *file) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xClose(inner);
}

static int ferry_pass_read(sqlite3_file *file, void *into, int count, sqlite3_int64 offset) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xRead(inner, into, count, offset);
}

static int ferry_pass_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xWrite(inner, bytes, count, offset);
}

static int ferry_pass_truncate(sqlite3_file *file, sqlite3_int64 size) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xTruncate(inner, size);
}

static int ferry_pass_sync(sqlite3_file *file, int flags) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xSync(inner, flags);
}

static int ferry_pass_size(sqlite3_file *file, sqlite3_int64 *size) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xFileSize(inner, size);
}

static int ferry_pass_lock(sqlite3_file *file, int level) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xLock(inner, level);
}

static int ferry_pass_unlock(sqlite3_file *file, int level) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xUnlock(inner, level);
}

static int ferry_pass_check_lock(sqlite3_file *file, int *result) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xCheckReservedLock(inner, result);
}

static int ferry_pass_control(sqlite3_file *file, int operation, void *argument) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xFileControl(inner, operation, argument);
}

static int ferry_pass_sector_size(sqlite3_file *file) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xSectorSize(inner);
}

static int ferry_pass_characteristics(sqlite3_file *file) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xDeviceCharacteristics(inner);
}

static int ferry_pass_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xShmMap(inner, region, size, extend, memory);
}

static int ferry_pass_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xShmLock(inner, offset, count, flags);
}

static void ferry_pass_shm_barrier(sqlite3_file *file) {
    sqlite3_file *inner = ferry_inner(file);
    inner->pMethods->xShmBarrier(inner);
}

static int ferry_pass_shm_unmap(sqlite3_file *file, int deletes) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xShmUnmap(inner, deletes);
}

static int ferry_pass_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **memory) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xFetch(inner, offset, count, memory);
}

static int ferry_pass_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *memory) {
    sqlite3_file *inner = ferry_inner(file);
    return inner->pMethods->xUnfetch(inner, offset, memory);
}

/// Puts itself before an open file. What SQLite finds missing in a file's methods stays so: it decides by that what the
/// file can do.
static inline void ferry_filter_install(ferry_filter_file *filter, sqlite3_file *inner) {
    const sqlite3_io_methods *own = inner->pMethods;
    sqlite3_io_methods *methods = &filter->methods;
    memset(methods, 0, sizeof *methods);
    methods->iVersion = own->iVersion < 3 ? own->iVersion : 3;
    methods->xClose = ferry_pass_close;
    methods->xRead = ferry_pass_read;
    methods->xWrite = ferry_pass_write;
    methods->xTruncate = ferry_pass_truncate;
    methods->xSync = ferry_pass_sync;
    methods->xFileSize = ferry_pass_size;
    methods->xLock = ferry_pass_lock;
    methods->xUnlock = ferry_pass_unlock;
    methods->xCheckReservedLock = ferry_pass_check_lock;
    methods->xFileControl = ferry_pass_control;
    methods->xSectorSize = own->xSectorSize ? ferry_pass_sector_size : NULL;
    methods->xDeviceCharacteristics = own->xDeviceCharacteristics ? ferry_pass_characteristics : NULL;
    if (own->iVersion >= 2) {
        methods->xShmMap = own->xShmMap ? ferry_pass_shm_map : NULL;
        methods->xShmLock = own->xShmLock ? ferry_pass_shm_lock : NULL;
        methods->xShmBarrier = own->xShmBarrier ? ferry_pass_shm_barrier : NULL;
        methods->xShmUnmap = own->xShmUnmap ? ferry_pass_shm_unmap : NULL;
    }
    if (own->iVersion >= 3) {
        methods->xFetch = own->xFetch ? ferry_pass_fetch : NULL;
        methods->xUnfetch = own->xUnfetch ? ferry_pass_unfetch : NULL;
    }
    filter->inner = inner;
    filter->base.pMethods = methods;
}

#endif
