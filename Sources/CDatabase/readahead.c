#include "readahead.h"

#include <stdlib.h>
#include <string.h>

static ferry_ahead_file *ferry_ahead(sqlite3_file *file) { return (ferry_ahead_file *)file; }

/// Discards the bytes read ahead. While a connection holds its locks, the pages that it may read do not change.
static void ferry_ahead_forget(sqlite3_file *file) {
    for (int place = 0; place < FERRY_AHEAD_RUNS; place++) {
        ferry_ahead_run *run = &ferry_ahead(file)->runs[place];
        run->next = -1;
        run->start = run->end = 0;
    }
}

static int ferry_ahead_close(sqlite3_file *file) {
    for (int place = 0; place < FERRY_AHEAD_RUNS; place++) free(ferry_ahead(file)->runs[place].bytes);
    return ferry_pass_close(file);
}

static int ferry_ahead_read(sqlite3_file *file, void *into, int count, sqlite3_int64 offset) {
    ferry_ahead_file *ahead = ferry_ahead(file);
    for (int turn = 0; turn < FERRY_AHEAD_RUNS; turn++) {
        int place = (ahead->last + turn) % FERRY_AHEAD_RUNS;
        ferry_ahead_run *run = &ahead->runs[place];
        int isThere = offset >= run->start && offset + count <= run->end;
        if (!isThere && (offset != run->next || count > FERRY_AHEAD_BYTES / 2)) continue;
        ahead->last = place;
        if (!isThere) {
            if (!run->bytes && !(run->bytes = malloc(FERRY_AHEAD_BYTES))) break;
            run->start = run->end = 0;
            // Near the end of the file, SQLite reads single pages.
            if (ferry_pass_read(file, run->bytes, FERRY_AHEAD_BYTES, offset) != SQLITE_OK) break;
            run->start = offset;
            run->end = offset + FERRY_AHEAD_BYTES;
        }
        memcpy(into, run->bytes + (offset - run->start), (size_t)count);
        run->next = offset + count;
        return SQLITE_OK;
    }
    // If no run continues here, the least recently used one restarts here.
    int place = (ahead->last + 1) % FERRY_AHEAD_RUNS;
    for (int index = 0; index < FERRY_AHEAD_RUNS; index++)
        if (ahead->runs[index].next == offset) place = index;
    ahead->runs[place].next = offset + count;
    ahead->last = place;
    return ferry_pass_read(file, into, count, offset);
}

static int ferry_ahead_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    ferry_ahead_forget(file);
    return ferry_pass_write(file, bytes, count, offset);
}

static int ferry_ahead_truncate(sqlite3_file *file, sqlite3_int64 size) {
    ferry_ahead_forget(file);
    return ferry_pass_truncate(file, size);
}

static int ferry_ahead_lock(sqlite3_file *file, int level) {
    ferry_ahead_forget(file);
    return ferry_pass_lock(file, level);
}

static int ferry_ahead_unlock(sqlite3_file *file, int level) {
    ferry_ahead_forget(file);
    return ferry_pass_unlock(file, level);
}

static int ferry_ahead_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    ferry_ahead_forget(file);
    return ferry_pass_shm_lock(file, offset, count, flags);
}

void ferry_ahead_install(sqlite3_file *file, sqlite3_file *inner) {
    ferry_ahead_file *ahead = ferry_ahead(file);
    memset(ahead, 0, sizeof *ahead);
    ferry_filter_install(&ahead->filter, inner);
    sqlite3_io_methods *methods = &ahead->filter.methods;
    methods->xClose = ferry_ahead_close;
    methods->xRead = ferry_ahead_read;
    methods->xWrite = ferry_ahead_write;
    methods->xTruncate = ferry_ahead_truncate;
    methods->xLock = ferry_ahead_lock;
    methods->xUnlock = ferry_ahead_unlock;
    if (methods->xShmLock) methods->xShmLock = ferry_ahead_shm_lock;
    ferry_ahead_forget(file);
}
