// SQLite for Swift: what the importer cannot see by itself, the variadic
// configuration calls and the two special destructors.
#ifndef FERRY_CSQLITE_SHIM_H
#define FERRY_CSQLITE_SHIM_H

#include <sqlite3.h>
#include <string.h>

/// Sets a boolean connection option (`sqlite3_db_config`).
static inline int ferry_sqlite3_db_config_flag(sqlite3 *db, int option, int on) {
    int now = 0;
    return sqlite3_db_config(db, option, on, &now);
}

/// `SQLITE_TRANSIENT`: SQLite makes its own copy of the bound bytes.
static inline sqlite3_destructor_type ferry_sqlite3_transient(void) { return SQLITE_TRANSIENT; }

/// `SQLITE_STATIC`: the bound bytes outlive the step.
static inline sqlite3_destructor_type ferry_sqlite3_static(void) { return SQLITE_STATIC; }

/// Sets an option of a virtual table from its xConnect (`sqlite3_vtab_config`), one without a value.
static inline int ferry_sqlite3_vtab_config(sqlite3 *db, int option) { return sqlite3_vtab_config(db, option); }

/// Whether two columns of current rows hold the same: one storage class, the same bytes.
///
/// Numbers are compared as they are stored: 1 is not 1.0, -0.0 is not 0.0.
static inline int ferry_sqlite3_columns_equal(sqlite3_stmt *left, int l, sqlite3_stmt *right, int r) {
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
        // The pointers first: asking for a size first could convert a value twice.
        const void *a = sqlite3_value_blob(one), *b = sqlite3_value_blob(other);
        int count = sqlite3_value_bytes(one);
        return count == sqlite3_value_bytes(other) && (count == 0 || memcmp(a, b, (size_t)count) == 0);
    }
    }
}

/// The order of two runs of bytes, as `memcmp` has it, the shorter one first where one begins the other.
static inline int ferry_compare_bytes(const void *left, size_t l, const void *right, size_t r) {
    size_t least = l < r ? l : r;
    int order = least == 0 ? 0 : memcmp(left, right, least);
    return order != 0 ? order : l < r ? -1 : l > r;
}

#endif
