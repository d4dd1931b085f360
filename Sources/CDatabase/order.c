#include "order.h"
#include "compare.h"

#include <stdlib.h>
#include <string.h>

/// SQLite's order of storage classes: NULL, numbers, texts, BLOBs.
static int ferry_rank(int type) {
    return type == SQLITE_NULL ? 0 : type == SQLITE_TEXT ? 2 : type == SQLITE_BLOB ? 3 : 1;
}

#define FERRY_ORDER(l, r) ((l) < (r) ? -1 : (l) > (r))

/// Compares exactly, also if a double cannot represent the integer.
static int ferry_compare_numbers(int64_t integer, double real) {
    if (real < -9223372036854775808.0) return 1;
    if (real >= 9223372036854775808.0) return -1;
    int64_t whole = (int64_t)real;
    return integer == whole ? FERRY_ORDER(0.0, real - (double)whole) : FERRY_ORDER(integer, whole);
}

/// Compares like SQLite's NOCASE: folds only ASCII letters, and after a NUL compares only the lengths.
static int ferry_compare_nocase(const unsigned char *l, size_t lcount, const unsigned char *r, size_t rcount) {
    for (size_t index = 0; index < lcount && index < rcount; index++) {
        unsigned char a = l[index], b = r[index];
        if (a >= 'A' && a <= 'Z') a += 32;
        if (b >= 'A' && b <= 'Z') b += 32;
        if (a != b) return a < b ? -1 : 1;
        if (a == 0) break;
    }
    return FERRY_ORDER(lcount, rcount);
}

static size_t ferry_trimmed(const unsigned char *bytes, size_t count) {
    while (count > 0 && bytes[count - 1] == ' ') count--;
    return count;
}

/// Below 0 if the stored value comes first.
static int ferry_compare_cell(const ferry_cell *cell, sqlite3_value *value, int collation) {
    int type = sqlite3_value_type(value);
    int left = ferry_rank(cell->type), right = ferry_rank(type);
    if (left != right) return left - right;
    if (left == 0) return 0;
    if (left == 1) {
        if (cell->type == SQLITE_INTEGER) {
            if (type == SQLITE_INTEGER) return FERRY_ORDER(cell->integer, sqlite3_value_int64(value));
            return ferry_compare_numbers(cell->integer, sqlite3_value_double(value));
        }
        if (type == SQLITE_FLOAT) return FERRY_ORDER(cell->real, sqlite3_value_double(value));
        return -ferry_compare_numbers(sqlite3_value_int64(value), cell->real);
    }
    const unsigned char *bytes = sqlite3_value_blob(value);
    size_t count = (size_t)sqlite3_value_bytes(value);
    if (type == SQLITE_TEXT && collation == FERRY_NOCASE)
        return ferry_compare_nocase(cell->bytes, cell->count, bytes, count);
    if (type == SQLITE_TEXT && collation == FERRY_RTRIM)
        return ferry_compare_bytes(
            cell->bytes, ferry_trimmed(cell->bytes, cell->count), bytes, ferry_trimmed(bytes, count));
    return ferry_compare_bytes(cell->bytes, cell->count, bytes, count);
}

/// Stores a value; 0 without memory.
static int ferry_keep_cell(ferry_cell *cell, sqlite3_value *value) {
    cell->type = sqlite3_value_type(value);
    switch (cell->type) {
    case SQLITE_NULL: return 1;
    case SQLITE_INTEGER: cell->integer = sqlite3_value_int64(value); return 1;
    case SQLITE_FLOAT: cell->real = sqlite3_value_double(value); return 1;
    default: {
        const void *bytes = sqlite3_value_blob(value);
        cell->count = (size_t)sqlite3_value_bytes(value);
        if (cell->count > cell->capacity) {
            unsigned char *larger = realloc(cell->bytes, cell->count);
            if (!larger) return 0;
            cell->bytes = larger;
            cell->capacity = cell->count;
        }
        if (cell->count > 0) memcpy(cell->bytes, bytes, cell->count);
        return 1;
    }
    }
}

void ferry_forget_cells(ferry_cell *cells, long count) {
    for (long column = 0; column < count; column++) free(cells[column].bytes);
}

int ferry_follow(
    sqlite3_value *const *row, ferry_cell *cells, const ferry_order *orders, long count, long keys, int is_unique,
    int is_first) {
    int fault = is_first ? FERRY_IN_ORDER : FERRY_OUT_OF_PLACE, has_null = 0;
    for (long column = 0; column < count && !is_first; column++) {
        if (column == keys && is_unique && !has_null) {
            fault = FERRY_DUPLICATE;
            break;
        }
        if (cells[column].type == SQLITE_NULL) has_null = 1;
        int order = ferry_compare_cell(&cells[column], row[column], orders[column].collation);
        if (order != 0) {
            if ((order < 0) != (orders[column].is_descending != 0)) fault = FERRY_IN_ORDER;
            break;
        }
    }
    for (long column = 0; column < count; column++)
        if (!ferry_keep_cell(&cells[column], row[column])) return FERRY_NO_MEMORY;
    return fault;
}
