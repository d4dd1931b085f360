#include "filter.h"

#include <string.h>

static inline sqlite3_file *ferry_inner(sqlite3_file *file) { return ((ferry_filter_file *)file)->inner; }

/// Methods that pass a call to the inner file.
#define FERRY_PASS(name, method, parameters, arguments) \
    int ferry_pass_##name parameters { \
        sqlite3_file *inner = ferry_inner(file); \
        return inner->pMethods->method arguments; \
    }

FERRY_PASS(close, xClose, (sqlite3_file *file), (inner))
FERRY_PASS(read, xRead, (sqlite3_file *file, void *into, int count, sqlite3_int64 at), (inner, into, count, at))
FERRY_PASS(
    write, xWrite, (sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at), (inner, bytes, count, at))
FERRY_PASS(truncate, xTruncate, (sqlite3_file *file, sqlite3_int64 size), (inner, size))
FERRY_PASS(sync, xSync, (sqlite3_file *file, int flags), (inner, flags))
FERRY_PASS(size, xFileSize, (sqlite3_file *file, sqlite3_int64 *size), (inner, size))
FERRY_PASS(lock, xLock, (sqlite3_file *file, int level), (inner, level))
FERRY_PASS(unlock, xUnlock, (sqlite3_file *file, int level), (inner, level))
static FERRY_PASS(check_lock, xCheckReservedLock, (sqlite3_file *file, int *result), (inner, result))
FERRY_PASS(control, xFileControl, (sqlite3_file *file, int operation, void *argument), (inner, operation, argument))
static FERRY_PASS(sector_size, xSectorSize, (sqlite3_file *file), (inner))
static FERRY_PASS(characteristics, xDeviceCharacteristics, (sqlite3_file *file), (inner))
static FERRY_PASS(
    shm_map, xShmMap, (sqlite3_file *file, int region, int size, int extend, void volatile **memory),
    (inner, region, size, extend, memory))
FERRY_PASS(shm_lock, xShmLock, (sqlite3_file *file, int offset, int count, int flags), (inner, offset, count, flags))
static FERRY_PASS(shm_unmap, xShmUnmap, (sqlite3_file *file, int deletes), (inner, deletes))
FERRY_PASS(fetch, xFetch, (sqlite3_file *file, sqlite3_int64 at, int count, void **memory), (inner, at, count, memory))
static FERRY_PASS(unfetch, xUnfetch, (sqlite3_file *file, sqlite3_int64 at, void *memory), (inner, at, memory))

void ferry_pass_shm_barrier(sqlite3_file *file) {
    sqlite3_file *inner = ferry_inner(file);
    inner->pMethods->xShmBarrier(inner);
}

void ferry_filter_install(ferry_filter_file *filter, sqlite3_file *inner) {
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
