#include "rows.h"
#include "hash.h"

/// Fetches the columns of a current row.
static void ferry_sqlite3_fetch_row(sqlite3_stmt *row, ferry_reading *reading) {
    for (long index = 0; index < reading->column_count; index++)
        reading->values[reading->columns[index]] = sqlite3_column_value(row, reading->columns[index]);
}

/// Counts a fetched row: in sums and conditions, and checks its order.
///
/// Returns `SQLITE_ROW`, or an error code.
static int ferry_sqlite3_count_row(ferry_reading *reading) {
    sqlite3_value **values = reading->values;
    for (long place = 0; place < reading->sum_count; place++) {
        ferry_sum *sum = &reading->sums[place];
        if (sum->filter >= 0 && sqlite3_value_int64(values[sum->filter]) == 0) continue;
        sum->sum += ferry_hash_row(values, sum->columns, sum->column_count, reading->low, reading->high);
        sum->count++;
    }
    for (long place = 0; place < reading->count_count; place++)
        reading->counts[place] += sqlite3_value_int64(values[reading->first_counted + place]);
    ferry_sequence *sequence = &reading->sequence;
    if (sequence->count > 0) {
        int fault = ferry_follow(
            values, sequence->cells, sequence->orders, sequence->count, sequence->keys, sequence->is_unique,
            sequence->is_first);
        sequence->is_first = 0;
        if (fault == FERRY_NO_MEMORY) return SQLITE_NOMEM;
        if (fault != FERRY_IN_ORDER) sequence->faults++;
    }
    reading->rows++;
    return SQLITE_ROW;
}

int ferry_sqlite3_read_rows(sqlite3_stmt *row, long most, ferry_reading *reading) {
    int code = SQLITE_ROW;
    for (long index = 0; index < most && code == SQLITE_ROW; index++) {
        code = sqlite3_step(row);
        if (code != SQLITE_ROW) break;
        ferry_sqlite3_fetch_row(row, reading);
        code = ferry_sqlite3_count_row(reading);
    }
    return code;
}

/// The type of a bound pointer to a reading.
#define FERRY_READING "ferry_reading"

/// The step of an aggregate function, whose arguments are a pointer to the reading and the columns of the row.
static void ferry_sqlite3_read_step(sqlite3_context *context, int count, sqlite3_value **arguments) {
    ferry_reading *reading = count == 0 ? NULL : sqlite3_value_pointer(arguments[0], FERRY_READING);
    if (!reading) {
        sqlite3_result_error_code(context, SQLITE_MISUSE);
        return;
    }
    reading->values = arguments + 1;
    int code = ferry_sqlite3_count_row(reading);
    if (code == SQLITE_ROW && reading->rows % reading->rows_between_looks == 0 && !reading->look(reading->looker))
        code = SQLITE_ABORT;
    if (code != SQLITE_ROW) sqlite3_result_error_code(context, code);
}

/// The result of the aggregate function, which is NULL.
static void ferry_sqlite3_read_end(sqlite3_context *context) { (void)context; }

int ferry_sqlite3_register_reading(sqlite3 *database, const char *name) {
    return sqlite3_create_function_v2(
        database, name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL, ferry_sqlite3_read_step,
        ferry_sqlite3_read_end, NULL);
}

int ferry_sqlite3_bind_reading(sqlite3_stmt *statement, int index, ferry_reading *reading) {
    return sqlite3_bind_pointer(statement, index, reading, FERRY_READING, NULL);
}
