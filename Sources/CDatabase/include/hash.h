// A keyed hash over whole words: each is multiplied with the key to 128 bits, whose halves are folded into one. Each
// verification draws a random key and shows no hash, so that no store can be constructed to collide.
#ifndef FERRY_HASH_H
#define FERRY_HASH_H

#include "sqlite.h"
#include <stdint.h>

/// Folds a product of 128 bits to 64, by parts of 32 bits.
uint64_t ferry_folded_by_halves(uint64_t x, uint64_t y);

/// Folds a product of 128 bits to 64, with the compiler's 128-bit integers if it has them.
uint64_t ferry_folded(uint64_t x, uint64_t y);

/// Returns the keyed hash of a row's columns, in the given order: of their bytes and their storage classes.
uint64_t ferry_hash_row(sqlite3_value *const *row, const long *columns, long count, uint64_t low, uint64_t high);

/// Returns the hash of a row of two integers.
uint64_t ferry_hash_pair(int64_t first, int64_t second, uint64_t low, uint64_t high);

#endif
