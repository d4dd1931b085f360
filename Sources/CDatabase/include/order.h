// The order of a statement's rows: each row is compared with the one before it.
#ifndef FERRY_ORDER_OF_ROWS_H
#define FERRY_ORDER_OF_ROWS_H

#include "sqlite.h"
#include <stddef.h>
#include <stdint.h>

/// A value of the previous row.
typedef struct {
    int type;
    int64_t integer;
    double real;
    unsigned char *bytes;
    size_t count, capacity;
} ferry_cell;

enum { FERRY_BINARY, FERRY_NOCASE, FERRY_RTRIM };

/// The order of a column.
typedef struct {
    int32_t collation, is_descending;
} ferry_order;

/// Frees the memory of stored values.
void ferry_forget_cells(ferry_cell *cells, long count);

enum { FERRY_IN_ORDER, FERRY_OUT_OF_PLACE, FERRY_DUPLICATE, FERRY_NO_MEMORY };

/// Checks whether a row may follow the row in the cells, and stores it in them.
///
/// With `is_unique`, rows with equal values without NULL in the first `keys` columns are duplicates.
int ferry_follow(
    sqlite3_value *const *row, ferry_cell *cells, const ferry_order *orders, long count, long keys, int is_unique,
    int is_first);

#endif
