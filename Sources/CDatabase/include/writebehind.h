// A filter that writes consecutive pages of a database or rollback journal together: system calls for single pages take
// a quarter of the time of a statement that writes many rows.
//
// Each sync, truncation and unlock first writes the buffered bytes, so bytes from before a sync reach the disk before
// bytes from after it, as SQLite requires. Between two syncs SQLite expects no order of writes. A killed process loses
// buffered bytes as a power cut would; runs sync their journals (`synchronous` NORMAL or above).
#ifndef FERRY_WRITEBEHIND_H
#define FERRY_WRITEBEHIND_H

#include "filter.h"

/// The bytes of one write, and the number of simultaneous runs of pages: updates of growing rows write to their old
/// pages and to the end of the file in turn.
enum { FERRY_BEHIND_BYTES = 64 << 10, FERRY_BEHIND_RUNS = 3 };

/// A run of consecutive page writes.
typedef struct {
    /// The offset after the last page.
    sqlite3_int64 next;
    /// The buffer: `count` bytes from `start` on, which end at `next`.
    unsigned char *bytes;
    sqlite3_int64 start;
    int count;
    unsigned used;
} ferry_behind_run;

typedef struct {
    ferry_filter_file filter;
    ferry_behind_run runs[FERRY_BEHIND_RUNS];
    unsigned clock;
} ferry_behind_file;

/// Installs the filter before an open file.
void ferry_behind_install(sqlite3_file *file, sqlite3_file *inner);

#endif
