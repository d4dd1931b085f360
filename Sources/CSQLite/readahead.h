// A file of SQLite's own VFS that is only read, in larger pieces where its pages are asked for one after another: a call
// into the kernel for each page takes a tenth of the time of a pass over a table.
#ifndef FERRY_CSQLITE_READAHEAD_H
#define FERRY_CSQLITE_READAHEAD_H

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/// Bytes read at once, and how many runs of pages are followed beside each other: a table's and an index's.
enum { FERRY_AHEAD_BYTES = 32 << 10, FERRY_AHEAD_RUNS = 2 };

/// Pages that are asked for one after another.
typedef struct {
    /// Where the page behind the last one begins.
    sqlite3_int64 next;
    /// What was read ahead.
    unsigned char *bytes;
    sqlite3_int64 start, end;
} ferry_ahead_run;

/// What stands before SQLite's own file.
typedef struct {
    sqlite3_file base;
    sqlite3_io_methods methods;
    sqlite3_file *inner;
    ferry_ahead_run runs[FERRY_AHEAD_RUNS];
    /// The run that was followed last.
    int last;
} ferry_ahead_file;

static inline ferry_ahead_file *ferry_ahead(sqlite3_file *file) { return (ferry_ahead_file *)file; }

/// Forgets what was read. While a connection holds its locks no page that it may ask for changes.
static inline void ferry_ahead_forget(sqlite3_file *file) {
    for (int place = 0; place < FERRY_AHEAD_RUNS; place++) {
        ferry_ahead_run *run = &ferry_ahead(file)->runs[place];
        run->next = -1;
        run->start = run->end = 0;
    }
}

static int ferry_ahead_close(sqlite3_file *file) {
    for (int place = 0; place < FERRY_AHEAD_RUNS; place++) free(ferry_ahead(file)->runs[place].bytes);
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xClose(inner);
}

static int ferry_ahead_read(sqlite3_file *file, void *into, int count, sqlite3_int64 offset) {
    ferry_ahead_file *ahead = ferry_ahead(file);
    sqlite3_file *inner = ahead->inner;
    for (int turn = 0; turn < FERRY_AHEAD_RUNS; turn++) {
        int place = (ahead->last + turn) % FERRY_AHEAD_RUNS;
        ferry_ahead_run *run = &ahead->runs[place];
        int isThere = offset >= run->start && offset + count <= run->end;
        if (!isThere && (offset != run->next || count > FERRY_AHEAD_BYTES / 2)) continue;
        ahead->last = place;
        if (!isThere) {
            if (!run->bytes && !(run->bytes = malloc(FERRY_AHEAD_BYTES))) break;
            run->start = run->end = 0;
            // Near the end of the file there is less: SQLite then asks page by page.
            if (inner->pMethods->xRead(inner, run->bytes, FERRY_AHEAD_BYTES, offset) != SQLITE_OK) break;
            run->start = offset;
            run->end = offset + FERRY_AHEAD_BYTES;
        }
        memcpy(into, run->bytes + (offset - run->start), (size_t)count);
        run->next = offset + count;
        return SQLITE_OK;
    }
    // The run that was not followed last begins anew here, unless one goes on.
    int place = (ahead->last + 1) % FERRY_AHEAD_RUNS;
    for (int index = 0; index < FERRY_AHEAD_RUNS; index++)
        if (ahead->runs[index].next == offset) place = index;
    ahead->runs[place].next = offset + count;
    ahead->last = place;
    return inner->pMethods->xRead(inner, into, count, offset);
}

static int ferry_ahead_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    ferry_ahead_forget(file);
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xWrite(inner, bytes, count, offset);
}

static int ferry_ahead_truncate(sqlite3_file *file, sqlite3_int64 size) {
    ferry_ahead_forget(file);
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xTruncate(inner, size);
}

static int ferry_ahead_sync(sqlite3_file *file, int flags) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xSync(inner, flags);
}

static int ferry_ahead_size(sqlite3_file *file, sqlite3_int64 *size) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xFileSize(inner, size);
}

static int ferry_ahead_lock(sqlite3_file *file, int level) {
    ferry_ahead_forget(file);
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xLock(inner, level);
}

static int ferry_ahead_unlock(sqlite3_file *file, int level) {
    ferry_ahead_forget(file);
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xUnlock(inner, level);
}

static int ferry_ahead_check_lock(sqlite3_file *file, int *result) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xCheckReservedLock(inner, result);
}

static int ferry_ahead_control(sqlite3_file *file, int operation, void *argument) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xFileControl(inner, operation, argument);
}

static int ferry_ahead_sector_size(sqlite3_file *file) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xSectorSize(inner);
}

static int ferry_ahead_characteristics(sqlite3_file *file) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xDeviceCharacteristics(inner);
}

static int ferry_ahead_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **memory) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xShmMap(inner, region, size, extend, memory);
}

static int ferry_ahead_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    ferry_ahead_forget(file);
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xShmLock(inner, offset, count, flags);
}

static void ferry_ahead_shm_barrier(sqlite3_file *file) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    inner->pMethods->xShmBarrier(inner);
}

static int ferry_ahead_shm_unmap(sqlite3_file *file, int deletes) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xShmUnmap(inner, deletes);
}

static int ferry_ahead_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **memory) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xFetch(inner, offset, count, memory);
}

static int ferry_ahead_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *memory) {
    sqlite3_file *inner = ferry_ahead(file)->inner;
    return inner->pMethods->xUnfetch(inner, offset, memory);
}

/// Puts itself before an open file. What SQLite finds missing in a file's methods stays so: it decides by that what the
/// file can do.
static inline void ferry_ahead_install(sqlite3_file *file, sqlite3_file *inner) {
    ferry_ahead_file *ahead = ferry_ahead(file);
    memset(ahead, 0, sizeof *ahead);
    const sqlite3_io_methods *own = inner->pMethods;
    sqlite3_io_methods *methods = &ahead->methods;
    methods->iVersion = own->iVersion < 3 ? own->iVersion : 3;
    methods->xClose = ferry_ahead_close;
    methods->xRead = ferry_ahead_read;
    methods->xWrite = ferry_ahead_write;
    methods->xTruncate = ferry_ahead_truncate;
    methods->xSync = ferry_ahead_sync;
    methods->xFileSize = ferry_ahead_size;
    methods->xLock = ferry_ahead_lock;
    methods->xUnlock = ferry_ahead_unlock;
    methods->xCheckReservedLock = ferry_ahead_check_lock;
    methods->xFileControl = ferry_ahead_control;
    methods->xSectorSize = own->xSectorSize ? ferry_ahead_sector_size : NULL;
    methods->xDeviceCharacteristics = own->xDeviceCharacteristics ? ferry_ahead_characteristics : NULL;
    if (own->iVersion >= 2) {
        methods->xShmMap = own->xShmMap ? ferry_ahead_shm_map : NULL;
        methods->xShmLock = own->xShmLock ? ferry_ahead_shm_lock : NULL;
        methods->xShmBarrier = own->xShmBarrier ? ferry_ahead_shm_barrier : NULL;
        methods->xShmUnmap = own->xShmUnmap ? ferry_ahead_shm_unmap : NULL;
    }
    if (own->iVersion >= 3) {
        methods->xFetch = own->xFetch ? ferry_ahead_fetch : NULL;
        methods->xUnfetch = own->xUnfetch ? ferry_ahead_unfetch : NULL;
    }
    ahead->inner = inner;
    ferry_ahead_forget(file);
    file->pMethods = methods;
}

#endif
