// A filter: a file that passes every call to a file of SQLite's VFS. Other filters replace some of its methods.
#ifndef FERRY_FILTER_H
#define FERRY_FILTER_H

#include "sqlite.h"

/// The head of every filter.
typedef struct {
    sqlite3_file base;
    sqlite3_io_methods methods;
    sqlite3_file *inner;
} ferry_filter_file;

// Methods that pass a call to the inner file, for filters that do something before or after it.

int ferry_pass_close(sqlite3_file *file);
int ferry_pass_read(sqlite3_file *file, void *into, int count, sqlite3_int64 at);
int ferry_pass_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at);
int ferry_pass_truncate(sqlite3_file *file, sqlite3_int64 size);
int ferry_pass_sync(sqlite3_file *file, int flags);
int ferry_pass_size(sqlite3_file *file, sqlite3_int64 *size);
int ferry_pass_lock(sqlite3_file *file, int level);
int ferry_pass_unlock(sqlite3_file *file, int level);
int ferry_pass_control(sqlite3_file *file, int operation, void *argument);
int ferry_pass_shm_lock(sqlite3_file *file, int offset, int count, int flags);
void ferry_pass_shm_barrier(sqlite3_file *file);
int ferry_pass_fetch(sqlite3_file *file, sqlite3_int64 at, int count, void **memory);

/// Installs the filter before an open file. NULL methods of the inner file stay NULL: they tell SQLite its abilities.
void ferry_filter_install(ferry_filter_file *filter, sqlite3_file *inner);

#endif
