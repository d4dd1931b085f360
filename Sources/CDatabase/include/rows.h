// Counts over the rows of statements, without a call from Swift for each row.
#ifndef FERRY_ROWS_H
#define FERRY_ROWS_H

#include "order.h"

/// A sum of hashes of some columns of rows.
typedef struct {
    /// The column that is 0 in rows to skip; -1 to count all.
    long filter;
    const long *columns;
    long column_count;
    uint64_t sum;
    int64_t count;
} ferry_sum;

/// The required order of rows; without columns there is no check.
typedef struct {
    ferry_cell *cells;
    const ferry_order *orders;
    long count, keys;
    int32_t is_unique, is_first;
    int64_t faults;
} ferry_sequence;

/// All counts over the rows of a statement.
typedef struct {
    ferry_sum *sums;
    long sum_count;
    /// The columns that are 1 in rows that meet a condition, else 0, and the rows that meet each.
    long first_counted;
    int64_t *counts;
    long count_count;
    uint64_t low, high;
    ferry_sequence sequence;
    /// All used columns, and their values in the current row, by column: a fetch costs more than a use.
    const int32_t *columns;
    long column_count;
    sqlite3_value **values;
    int64_t rows;
    /// Called after each `rows_between_looks` rows of a statement; 0 ends the statement.
    int32_t (*look)(void *looker);
    void *looker;
    int64_t rows_between_looks;
} ferry_reading;

/// Steps through at most `most` rows, and counts each.
///
/// Returns the code of the last step, `SQLITE_ROW` if there may be more rows.
int ferry_sqlite3_read_rows(sqlite3_stmt *row, long most, ferry_reading *reading);

/// Registers the function: one step then reads all rows, because a step for each row costs more than the counts.
int ferry_sqlite3_register_reading(sqlite3 *database, const char *name);

/// Binds a reading, which must outlive the statement's run.
int ferry_sqlite3_bind_reading(sqlite3_stmt *statement, int index, ferry_reading *reading);

#endif
