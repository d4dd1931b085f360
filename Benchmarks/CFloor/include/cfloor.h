// The floors that only C can set: what is left when nothing but the library's own work is done.
#ifndef FERRY_CFLOOR_H
#define FERRY_CFLOOR_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/// Carries the rows of one statement into another: step, bind each column, step, reset.
///
/// The caller's transaction is used. `scaled` is the column whose value is multiplied by `factor` on its way, or -1.
/// Returns SQLite's code, SQLITE_OK when all rows were written; `rows` is how many.
int cfloor_carry(struct sqlite3 *database, const char *select, const char *insert, int scaled, double factor,
                 int64_t *rows);

/// Compresses a file as `zstd -LEVEL -TWORKERS` does, for machines without the tool; true when it worked.
bool cfloor_compress(const char *input, const char *output, int level, int workers);

/// Decompresses a file as `zstd -d` does; true when it worked.
bool cfloor_decompress(const char *input, const char *output);

/// Runs a program (its path is the first word, NULL follows the last) with its standard output in a file, and waits.
///
/// Returns its exit code, or -1 when it could not be started or was ended by a signal.
int cfloor_run(const char *const *words, const char *output);

/// Starts counting what is allocated by malloc and its kin, in all threads.
void cfloor_count_allocations(void);

/// Stops counting; the number of allocations, or -1 where they cannot be counted (not glibc, or a sanitizer).
int64_t cfloor_allocations(void);

#endif
