// Comparison and hashing of rows: a loop over columns in C takes a third of the time of calls from Swift.
#ifndef FERRY_CSQLITE_ROWS_H
#define FERRY_CSQLITE_ROWS_H

#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// Whether two columns of current rows are equal: same storage class and bytes.
///
/// Compares numbers as stored: 1 is not 1.0, -0.0 is not 0.0.
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
        // The pointers first: a read of a size first could convert a value twice.
        const void *a = sqlite3_value_blob(one), *b = sqlite3_value_blob(other);
        int count = sqlite3_value_bytes(one);
        return count == sqlite3_value_bytes(other) && (count == 0 || memcmp(a, b, (size_t)count) == 0);
    }
    }
}

/// Whether `count` pairs of columns are equal.
static inline int ferry_sqlite3_rows_equal(
    sqlite3_stmt *left, sqlite3_stmt *right, const int32_t *pairs, long count) {
    for (long pair = 0; pair < count; pair++)
        if (!ferry_sqlite3_columns_equal(left, pairs[2 * pair], right, pairs[2 * pair + 1])) return 0;
    return 1;
}

/// Compares two byte strings like `memcmp`; a prefix comes first.
static inline int ferry_compare_bytes(const void *left, size_t l, const void *right, size_t r) {
    size_t least = l < r ? l : r;
    int order = least == 0 ? 0 : memcmp(left, right, least);
    return order != 0 ? order : l < r ? -1 : l > r;
}

// A keyed hash over whole words: each is multiplied with the key to 128 bits, whose halves are folded into one. Each
// verification draws a random key and shows no hash, so that no store can be constructed to collide.

/// Folds a product of 128 bits to 64, by parts of 32 bits.
static inline uint64_t ferry_folded_by_halves(uint64_t x, uint64_t y) {
    uint64_t low = (x & 0xffffffff) * (y & 0xffffffff), high = (x >> 32) * (y >> 32);
    uint64_t one = (x >> 32) * (y & 0xffffffff), other = (x & 0xffffffff) * (y >> 32);
    uint64_t middle = (low >> 32) + (one & 0xffffffff) + (other & 0xffffffff);
    high += (one >> 32) + (other >> 32) + (middle >> 32);
    return (middle << 32 | (low & 0xffffffff)) ^ high;
}

/// Folds a product of 128 bits to 64, with the compiler's 128-bit integers if it has them.
static inline uint64_t ferry_folded(uint64_t x, uint64_t y) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    return ferry_folded_by_halves(x, y);
#endif
}

typedef struct {
    uint64_t state, factor, words;
} ferry_hash;

static inline void ferry_hash_add(ferry_hash *h, uint64_t word) {
    h->words++;
    h->state = ferry_folded(h->state ^ word, h->factor);
}

static inline void ferry_hash_bytes(ferry_hash *h, const unsigned char *bytes, size_t count) {
    size_t index = 0;
    for (; index + 8 <= count; index += 8) {
        uint64_t word;
        memcpy(&word, bytes + index, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        ferry_hash_add(h, word);
    }
    if (index == count) return;
    uint64_t rest = 0;
    for (size_t place = count; place > index; place--) rest = rest << 8 | bytes[place - 1];
    ferry_hash_add(h, rest);
}

/// The number of storage classes in one word.
enum { FERRY_CLASSES_IN_WORD = 14 };

/// Returns the keyed hash of a row's columns, in the given order: of their bytes and their storage classes.
static inline uint64_t ferry_hash_row(
    sqlite3_value *const *row, const long *columns, long count, uint64_t low, uint64_t high) {
    // A factor of 0 would make all hashes equal; an odd factor keeps the low bits distinct.
    ferry_hash h = {high, low | 1, 0};
    uint64_t classes = 0;
    for (long index = 0; index < count; index++) {
        if (index > 0 && index % FERRY_CLASSES_IN_WORD == 0) {
            ferry_hash_add(&h, classes);
            classes = 0;
        }
        sqlite3_value *value = row[columns[index]];
        int type = sqlite3_value_type(value);
        classes = classes << 4 | (uint64_t)type;
        switch (type) {
        case SQLITE_NULL: break;
        case SQLITE_INTEGER: ferry_hash_add(&h, (uint64_t)sqlite3_value_int64(value)); break;
        case SQLITE_FLOAT: {
            double real = sqlite3_value_double(value);
            uint64_t bits;
            memcpy(&bits, &real, 8);
            ferry_hash_add(&h, bits);
            break;
        }
        default: {
            // The pointer first: a read of the size first could convert the value twice.
            const unsigned char *bytes = sqlite3_value_blob(value);
            size_t size = (size_t)sqlite3_value_bytes(value);
            ferry_hash_add(&h, (uint64_t)size);
            if (bytes) ferry_hash_bytes(&h, bytes, size);
        }
        }
    }
    ferry_hash_add(&h, classes | h.words << 56);
    return ferry_folded(h.state, high | 1);
}

// The order of a statement's rows.

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

/// SQLite's order of storage classes: NULL, numbers, texts, BLOBs.
static inline int ferry_rank(int type) {
    return type == SQLITE_NULL ? 0 : type == SQLITE_TEXT ? 2 : type == SQLITE_BLOB ? 3 : 1;
}

#define FERRY_ORDER(l, r) ((l) < (r) ? -1 : (l) > (r))

/// Compares exactly, also if a double cannot represent the integer.
static inline int ferry_compare_numbers(int64_t integer, double real) {
    if (real < -9223372036854775808.0) return 1;
    if (real >= 9223372036854775808.0) return -1;
    int64_t whole = (int64_t)real;
    return integer == whole ? FERRY_ORDER(0.0, real - (double)whole) : FERRY_ORDER(integer, whole);
}

/// Compares like SQLite's NOCASE: folds only ASCII letters, and after a NUL compares only the lengths.
static inline int ferry_compare_nocase(const unsigned char *l, size_t lcount, const unsigned char *r, size_t rcount) {
    for (size_t index = 0; index < lcount && index < rcount; index++) {
        unsigned char a = l[index], b = r[index];
        if (a >= 'A' && a <= 'Z') a += 32;
        if (b >= 'A' && b <= 'Z') b += 32;
        if (a != b) return a < b ? -1 : 1;
        if (a == 0) break;
    }
    return FERRY_ORDER(lcount, rcount);
}

static inline size_t ferry_trimmed(const unsigned char *bytes, size_t count) {
    while (count > 0 && bytes[count - 1] == ' ') count--;
    return count;
}

/// Below 0 if the stored value comes first.
static inline int ferry_compare_cell(const ferry_cell *cell, sqlite3_value *value, int collation) {
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
static inline int ferry_keep_cell(ferry_cell *cell, sqlite3_value *value) {
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

/// Frees the memory of stored values.
static inline void ferry_forget_cells(ferry_cell *cells, long count) {
    for (long column = 0; column < count; column++) free(cells[column].bytes);
}

enum { FERRY_IN_ORDER, FERRY_OUT_OF_PLACE, FERRY_DUPLICATE, FERRY_NO_MEMORY };

/// Checks whether a row may follow the row in the cells, and stores it in them.
///
/// With `is_unique`, rows with equal values without NULL in the first `keys` columns are duplicates.
static inline int ferry_follow(
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

// Counts over the rows of statements, without a call from Swift for each row.

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

/// The valid numbers of the first column: those of another statement in ascending order, or all of a range.
typedef struct {
    /// NULL with a range, or without targets.
    sqlite3_stmt *numbers;
    /// Whether `lowest` through `highest` are valid.
    int32_t are_range;
    int64_t lowest, highest;
    int32_t is_begun, is_at_end;
    int64_t number;
    /// Whether NULL is a wrong value, as in a join table.
    int32_t are_all;
    /// The rows with other values.
    int64_t lost;
} ferry_targets;

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
    ferry_targets targets;
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

/// Checks whether a number is valid.
///
/// Returns `SQLITE_ROW`, or the error of the targets' statement.
static inline int ferry_sqlite3_find_target(sqlite3_value *value, ferry_targets *targets) {
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) {
        targets->lost += targets->are_all;
        return SQLITE_ROW;
    }
    int64_t number = sqlite3_value_int64(value);
    if (targets->are_range) {
        if (type != SQLITE_INTEGER || number < targets->lowest || number > targets->highest) targets->lost++;
        return SQLITE_ROW;
    }
    while (type == SQLITE_INTEGER && !targets->is_at_end && (!targets->is_begun || targets->number < number)) {
        int code = sqlite3_step(targets->numbers);
        targets->is_begun = 1;
        if (code == SQLITE_DONE) targets->is_at_end = 1;
        else if (code != SQLITE_ROW) return code;
        else targets->number = sqlite3_column_int64(targets->numbers, 0);
    }
    if (type != SQLITE_INTEGER || targets->is_at_end || targets->number != number) targets->lost++;
    return SQLITE_ROW;
}

/// Fetches the columns of a current row.
static inline void ferry_sqlite3_fetch_row(sqlite3_stmt *row, ferry_reading *reading) {
    for (long index = 0; index < reading->column_count; index++)
        reading->values[reading->columns[index]] = sqlite3_column_value(row, reading->columns[index]);
}

/// Counts a fetched row: in sums and conditions, and checks its order and its target.
///
/// Returns `SQLITE_ROW`, or an error code.
static inline int ferry_sqlite3_count_row(ferry_reading *reading) {
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
    return reading->targets.numbers || reading->targets.are_range ? ferry_sqlite3_find_target(values[0], &reading->targets) : SQLITE_ROW;
}

/// Counts a current row.
static inline int ferry_sqlite3_read_row(sqlite3_stmt *row, ferry_reading *reading) {
    ferry_sqlite3_fetch_row(row, reading);
    return ferry_sqlite3_count_row(reading);
}

/// Steps through at most `most` rows, and counts each.
///
/// Returns the code of the last step, `SQLITE_ROW` if there may be more rows.
static inline int ferry_sqlite3_read_rows(sqlite3_stmt *row, long most, ferry_reading *reading) {
    int code = SQLITE_ROW;
    for (long index = 0; index < most && code == SQLITE_ROW; index++) {
        code = sqlite3_step(row);
        if (code == SQLITE_ROW) code = ferry_sqlite3_read_row(row, reading);
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

/// Registers the function: one step then reads all rows, because a step for each row costs more than the counts.
static inline int ferry_sqlite3_register_reading(sqlite3 *database, const char *name) {
    return sqlite3_create_function_v2(
        database, name, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, NULL, ferry_sqlite3_read_step,
        ferry_sqlite3_read_end, NULL);
}

/// Binds a reading, which must outlive the statement's run.
static inline int ferry_sqlite3_bind_reading(sqlite3_stmt *statement, int index, ferry_reading *reading) {
    return sqlite3_bind_pointer(statement, index, reading, FERRY_READING, NULL);
}

/// Whether a row begins with a given pair of integers.
static inline int ferry_sqlite3_is_pair(sqlite3_stmt *row, sqlite3_value *const *pair) {
    for (int column = 0; column < 2; column++) {
        sqlite3_value *value = sqlite3_column_value(row, column);
        if (sqlite3_value_type(value) != SQLITE_INTEGER || sqlite3_value_type(pair[column]) != SQLITE_INTEGER ||
            sqlite3_value_int64(value) != sqlite3_value_int64(pair[column]))
            return 0;
    }
    return 1;
}

/// Steps through the rows of two statements, both at a row, while their first two columns have equal integers, at most
/// `most` times; counts the rows of the right one, if there is a reading.
///
/// Returns `SQLITE_ROW` if both are at a row, else the code of the left one's step, in `other` the right's.
static inline int ferry_sqlite3_step_pairs(
    sqlite3_stmt *left, sqlite3_stmt *right, long most, ferry_reading *reading, int *other) {
    *other = SQLITE_ROW;
    for (long index = 0; index < most; index++) {
        sqlite3_value *pair[2];
        if (reading) {
            // `values` begins with the first two columns.
            ferry_sqlite3_fetch_row(right, reading);
            memcpy(pair, reading->values, sizeof pair);
        } else {
            for (int column = 0; column < 2; column++) pair[column] = sqlite3_column_value(right, column);
        }
        if (!ferry_sqlite3_is_pair(left, pair)) break;
        if (reading && (*other = ferry_sqlite3_count_row(reading)) != SQLITE_ROW) break;
        int code = sqlite3_step(left);
        *other = sqlite3_step(right);
        if (code != SQLITE_ROW || *other != SQLITE_ROW) return code;
    }
    return SQLITE_ROW;
}

#endif
