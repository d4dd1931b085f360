// SQLite for Swift: the variadic configuration calls and the special destructor, which Swift cannot import.
#ifndef FERRY_CSQLITE_SHIM_H
#define FERRY_CSQLITE_SHIM_H

#include <sqlite3.h>

/// Sets a boolean connection option (`sqlite3_db_config`).
static inline int ferry_sqlite3_db_config_flag(sqlite3 *db, int option, int on) {
    int now = 0;
    return sqlite3_db_config(db, option, on, &now);
}

/// Returns the value of a boolean connection option.
static inline int ferry_sqlite3_db_config_flag_value(sqlite3 *db, int option) {
    int now = 0;
    (void)sqlite3_db_config(db, option, -1, &now);
    return now;
}

/// Sets a second name of the main database besides `main` (`SQLITE_DBCONFIG_MAINDBNAME`); SQLite keeps the pointer.
static inline int ferry_sqlite3_name_main(sqlite3 *db, const char *name) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_MAINDBNAME, name);
}

/// `SQLITE_TRANSIENT`: SQLite makes its own copy of the bound bytes.
static inline sqlite3_destructor_type ferry_sqlite3_transient(void) { return SQLITE_TRANSIENT; }

/// Sets an option without a value from a virtual table's xConnect (`sqlite3_vtab_config`).
static inline int ferry_sqlite3_vtab_config(sqlite3 *db, int option) { return sqlite3_vtab_config(db, option); }

#endif
