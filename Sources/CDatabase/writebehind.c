#include "writebehind.h"

#include <stdlib.h>
#include <string.h>

static ferry_behind_run *ferry_behind_runs(sqlite3_file *file) { return ((ferry_behind_file *)file)->runs; }

/// Writes a run's buffer; after a failure the bytes stay, so that SQLite can try again or roll back.
static int ferry_behind_flush_run(sqlite3_file *file, ferry_behind_run *run) {
    if (run->count == 0) return SQLITE_OK;
    int code = ferry_pass_write(file, run->bytes, run->count, run->start);
    if (code == SQLITE_OK) run->count = 0;
    return code;
}

static int ferry_behind_flush(sqlite3_file *file) {
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) {
        int code = ferry_behind_flush_run(file, &ferry_behind_runs(file)[place]);
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

static int ferry_behind_close(sqlite3_file *file) {
    int code = ferry_behind_flush(file);
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) free(ferry_behind_runs(file)[place].bytes);
    int closed = ferry_pass_close(file);
    return code == SQLITE_OK ? closed : code;
}

static sqlite3_int64 ferry_behind_end(const ferry_behind_run *run) { return run->start + run->count; }

/// Reads write nothing, so that SQLite can roll back on a full disk.
static int ferry_behind_read(sqlite3_file *file, void *into, int count, sqlite3_int64 offset) {
    ferry_behind_run *runs = ferry_behind_runs(file);
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) {
        if (offset < runs[place].start || offset + count > ferry_behind_end(&runs[place])) continue;
        memcpy(into, runs[place].bytes + (offset - runs[place].start), (size_t)count);
        return SQLITE_OK;
    }
    int code = ferry_pass_read(file, into, count, offset);
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) {
        ferry_behind_run *run = &runs[place];
        sqlite3_int64 from = offset > run->start ? offset : run->start;
        sqlite3_int64 to = offset + count < ferry_behind_end(run) ? offset + count : ferry_behind_end(run);
        if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return code;
        if (from < to) memcpy((char *)into + (from - offset), run->bytes + (from - run->start), (size_t)(to - from));
        // Bytes past the file's end are zero, and the run's bytes follow them.
        if (run->count > 0 && ferry_behind_end(run) >= offset + count) code = SQLITE_OK;
    }
    return code;
}

static int ferry_behind_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    ferry_behind_run *runs = ferry_behind_runs(file), *found = NULL, *oldest = runs;
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) {
        ferry_behind_run *run = &runs[place];
        if (run->used < oldest->used) oldest = run;
        if (run->next == offset) found = run;
        if (run->count == 0 || offset >= ferry_behind_end(run) || offset + count <= run->start) continue;
        if (offset >= run->start && offset + count <= ferry_behind_end(run)) {
            memcpy(run->bytes + (offset - run->start), bytes, (size_t)count);
            return SQLITE_OK;
        }
        // The older bytes are written first, so that the newer ones stay.
        int code = ferry_behind_flush_run(file, run);
        if (code != SQLITE_OK) return code;
    }
    if (!found || count > FERRY_BEHIND_BYTES || (!found->bytes && !(found->bytes = malloc(FERRY_BEHIND_BYTES)))) {
        // Without a buffer: the run continues after this write.
        ferry_behind_run *run = found ? found : oldest;
        int code = ferry_behind_flush_run(file, run);
        if (code != SQLITE_OK) return code;
        code = ferry_pass_write(file, bytes, count, offset);
        run->next = code == SQLITE_OK ? offset + count : -1;
        run->used = ++((ferry_behind_file *)file)->clock;
        return code;
    }
    if (found->count + count > FERRY_BEHIND_BYTES) {
        int code = ferry_behind_flush_run(file, found);
        if (code != SQLITE_OK) return code;
    }
    if (found->count == 0) found->start = offset;
    memcpy(found->bytes + found->count, bytes, (size_t)count);
    found->count += count;
    found->next = offset + count;
    found->used = ++((ferry_behind_file *)file)->clock;
    return SQLITE_OK;
}

static int ferry_behind_truncate(sqlite3_file *file, sqlite3_int64 size) {
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) {
        ferry_behind_run *run = &ferry_behind_runs(file)[place];
        // Bytes past the new size are not written: the disk may be full.
        if (run->count > 0 && ferry_behind_end(run) > size)
            run->count = run->start < size ? (int)(size - run->start) : 0;
        run->next = -1;
    }
    int code = ferry_behind_flush(file);
    return code == SQLITE_OK ? ferry_pass_truncate(file, size) : code;
}

static int ferry_behind_sync(sqlite3_file *file, int flags) {
    int code = ferry_behind_flush(file);
    return code == SQLITE_OK ? ferry_pass_sync(file, flags) : code;
}

static int ferry_behind_size(sqlite3_file *file, sqlite3_int64 *size) {
    int code = ferry_pass_size(file, size);
    for (int place = 0; code == SQLITE_OK && place < FERRY_BEHIND_RUNS; place++) {
        ferry_behind_run *run = &ferry_behind_runs(file)[place];
        if (run->count > 0 && ferry_behind_end(run) > *size) *size = ferry_behind_end(run);
    }
    return code;
}

/// After the unlock another connection may write, so bytes whose write failed are discarded. They belong to a failed
/// transaction, which the journal rolls back; the lock must be released anyway.
static int ferry_behind_unlock(sqlite3_file *file, int level) {
    (void)ferry_behind_flush(file);
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) {
        ferry_behind_runs(file)[place].count = 0;
        ferry_behind_runs(file)[place].next = -1;
    }
    return ferry_pass_unlock(file, level);
}

static int ferry_behind_control(sqlite3_file *file, int operation, void *argument) {
    // SQLite sends these at a sync, or where a sync would be without `synchronous` OFF; others query, or give hints.
    int ends = operation == SQLITE_FCNTL_SYNC || operation == SQLITE_FCNTL_COMMIT_PHASETWO;
    int code = ends ? ferry_behind_flush(file) : SQLITE_OK;
    return code == SQLITE_OK ? ferry_pass_control(file, operation, argument) : code;
}

static int ferry_behind_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    int code = ferry_behind_flush(file);
    return code == SQLITE_OK ? ferry_pass_shm_lock(file, offset, count, flags) : code;
}

static void ferry_behind_shm_barrier(sqlite3_file *file) {
    (void)ferry_behind_flush(file);
    ferry_pass_shm_barrier(file);
}

static int ferry_behind_fetch(sqlite3_file *file, sqlite3_int64 offset, int count, void **memory) {
    int code = ferry_behind_flush(file);
    return code == SQLITE_OK ? ferry_pass_fetch(file, offset, count, memory) : code;
}

void ferry_behind_install(sqlite3_file *file, sqlite3_file *inner) {
    ferry_behind_file *behind = (ferry_behind_file *)file;
    memset(behind, 0, sizeof *behind);
    ferry_filter_install(&behind->filter, inner);
    sqlite3_io_methods *methods = &behind->filter.methods;
    methods->xClose = ferry_behind_close;
    methods->xRead = ferry_behind_read;
    methods->xWrite = ferry_behind_write;
    methods->xTruncate = ferry_behind_truncate;
    methods->xSync = ferry_behind_sync;
    methods->xFileSize = ferry_behind_size;
    methods->xUnlock = ferry_behind_unlock;
    methods->xFileControl = ferry_behind_control;
    if (methods->xShmLock) methods->xShmLock = ferry_behind_shm_lock;
    if (methods->xShmBarrier) methods->xShmBarrier = ferry_behind_shm_barrier;
    if (methods->xFetch) methods->xFetch = ferry_behind_fetch;
    for (int place = 0; place < FERRY_BEHIND_RUNS; place++) behind->runs[place].next = -1;
}
