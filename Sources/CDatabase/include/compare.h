// Comparison of values and rows of statements: a loop over columns in C takes a third of the time of calls from Swift.
#ifndef FERRY_COMPARE_H
#define FERRY_COMPARE_H

#include "sqlite.h"
#include <stddef.h>
#include <stdint.h>

/// Whether two columns of current rows are equal: same storage class and bytes.
///
/// Compares numbers as stored: 1 is not 1.0, -0.0 is not 0.0.
int ferry_sqlite3_columns_equal(sqlite3_stmt *left, int l, sqlite3_stmt *right, int r);

/// Whether `count` pairs of columns are equal.
int ferry_sqlite3_rows_equal(sqlite3_stmt *left, sqlite3_stmt *right, const int32_t *pairs, long count);

/// Whether columns of a current row are all NULL.
int ferry_sqlite3_are_null(sqlite3_stmt *row, const int32_t *columns, long count);

/// Compares two byte strings like `memcmp`; a prefix comes first.
int ferry_compare_bytes(const void *left, size_t l, const void *right, size_t r);

#endif
