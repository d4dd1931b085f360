#include "cfloor.h"

#include <sqlite3.h>
#include <stddef.h>

int cfloor_carry(sqlite3 *database, const char *select, const char *insert, int scaled, double factor, int64_t *rows) {
    sqlite3_stmt *read = NULL, *write = NULL;
    *rows = 0;
    int code = sqlite3_prepare_v2(database, select, -1, &read, NULL);
    if (code == SQLITE_OK) code = sqlite3_prepare_v2(database, insert, -1, &write, NULL);
    if (code == SQLITE_OK) {
        const int columns = sqlite3_column_count(read);
        while ((code = sqlite3_step(read)) == SQLITE_ROW) {
            for (int column = 0; column < columns; column++) {
                if (column == scaled && sqlite3_column_type(read, column) != SQLITE_NULL) {
                    sqlite3_bind_double(write, column + 1, sqlite3_column_double(read, column) * factor);
                } else {
                    sqlite3_bind_value(write, column + 1, sqlite3_column_value(read, column));
                }
            }
            code = sqlite3_step(write);
            if (code != SQLITE_DONE) break;
            sqlite3_reset(write);
            *rows += 1;
        }
        if (code == SQLITE_DONE) code = SQLITE_OK;
    }
    sqlite3_finalize(read);
    sqlite3_finalize(write);
    return code;
}
