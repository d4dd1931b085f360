#include "compare.h"

#include <string.h>

int ferry_sqlite3_columns_equal(sqlite3_stmt *left, int l, sqlite3_stmt *right, int r) {
    sqlite3_value *one = sqlite3_column_value(left, l), *other = sqlite3_column_value(right, r);
    int type = sqlite3_value_type(one);
    if (type != sqlite3_value_type(other)) return 0;
    switch (type) {
    case SQLITE_NULL: return 1;
    case SQLITE_INTEGER: return sqlite3_value_int64(one) == sqlite3_value_int64(other);
    case SQLITE_FLOAT: {
        double x = sqlite3_value_double(one), y = sqlite3_value_double(other);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    default: {
        // The pointers first: a read of a size first could convert a value twice.
        const void *a = sqlite3_value_blob(one), *b = sqlite3_value_blob(other);
        int count = sqlite3_value_bytes(one);
        return count == sqlite3_value_bytes(other) && (count == 0 || memcmp(a, b, (size_t)count) == 0);
    }
    }
}

int ferry_sqlite3_rows_equal(sqlite3_stmt *left, sqlite3_stmt *right, const int32_t *pairs, long count) {
    for (long pair = 0; pair < count; pair++)
        if (!ferry_sqlite3_columns_equal(left, pairs[2 * pair], right, pairs[2 * pair + 1])) return 0;
    return 1;
}

int ferry_sqlite3_are_null(sqlite3_stmt *row, const int32_t *columns, long count) {
    for (long place = 0; place < count; place++)
        if (sqlite3_column_type(row, columns[place]) != SQLITE_NULL) return 0;
    return 1;
}

int ferry_compare_bytes(const void *left, size_t l, const void *right, size_t r) {
    size_t least = l < r ? l : r;
    int order = least == 0 ? 0 : memcmp(left, right, least);
    return order != 0 ? order : l < r ? -1 : l > r;
}
