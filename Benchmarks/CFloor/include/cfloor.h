// The floors that only C can set: the library's own work and nothing else.
#ifndef FERRY_CFLOOR_H
#define FERRY_CFLOOR_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/// Carries the rows of one statement into another: step, bind each column, step, reset.
///
/// Runs within the caller's transaction. The value of column `scaled` is multiplied by `factor`; -1 means no column.
/// Returns SQLite's code, SQLITE_OK when all rows were written; `rows` receives their number.
int cfloor_carry(struct sqlite3 *database, const char *select, const char *insert, int scaled, double factor,
                 int64_t *rows);

/// Compresses a file as `zstd -LEVEL -TWORKERS` does, for machines without the tool; returns true on success.
bool cfloor_compress(const char *input, const char *output, int level, int workers);

/// Decompresses a file as `zstd -d` does; returns true on success.
bool cfloor_decompress(const char *input, const char *output);

/// Runs a program (its path is the first word, NULL follows the last) with its standard output in a file, and waits.
///
/// Returns the program's exit code, or -1 when the program could not be started or a signal ended it.
int cfloor_run(const char *const *words, const char *output);

/// What a finished program used.
struct cfloor_usage {
    double seconds;
    /// The program's highest memory, or that of this process when it started the program, if that was higher.
    int64_t peak_bytes;
    /// Bytes passed by read and write calls; -1 where the system does not count them.
    int64_t read_bytes, written_bytes;
    /// The most bytes of disk that the folder had more than before; looked up about every 20 ms.
    int64_t folder_bytes;
};

/// Returns the bytes of disk of a folder's files.
int64_t cfloor_folder_bytes(const char *path);

/// Runs a program as `cfloor_run` does, and measures it; its standard error goes to a file, each line after its time in
/// seconds.
///
/// Kills a program that takes longer than `limit` seconds. Returns the program's exit code, or -1 when the program could
/// not be started or a signal ended it.
int cfloor_measure(const char *const *words, const char *output, const char *errors, const char *folder, double limit,
                   struct cfloor_usage *usage);

/// Starts to count the allocations by malloc and its relatives, in all threads.
void cfloor_count_allocations(void);

/// Stops counting; returns the number of allocations, or -1 where counting is impossible (not glibc, or a sanitizer).
int64_t cfloor_allocations(void);

#endif
