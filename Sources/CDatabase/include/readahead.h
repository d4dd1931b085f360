// A filter that reads ahead in a read-only file while SQLite reads its pages in order: system calls for single pages
// take a tenth of the time of a pass over a table.
#ifndef FERRY_READAHEAD_H
#define FERRY_READAHEAD_H

#include "filter.h"

/// The bytes of one read, and the number of simultaneous runs of pages: a table's and an index's.
enum { FERRY_AHEAD_BYTES = 32 << 10, FERRY_AHEAD_RUNS = 2 };

/// A run of consecutive page reads.
typedef struct {
    /// The offset after the last page.
    sqlite3_int64 next;
    /// The bytes read ahead.
    unsigned char *bytes;
    sqlite3_int64 start, end;
} ferry_ahead_run;

typedef struct {
    ferry_filter_file filter;
    ferry_ahead_run runs[FERRY_AHEAD_RUNS];
    /// The run of the last read.
    int last;
} ferry_ahead_file;

/// Installs the filter before an open file.
void ferry_ahead_install(sqlite3_file *file, sqlite3_file *inner);

#endif
