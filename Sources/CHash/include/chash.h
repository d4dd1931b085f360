// SHA-256 and SHA-512 (FIPS 180-4), incremental.
//
// Use: `chash_sha256_init`, any number of `chash_sha256_update`, one `chash_sha256_final`. A state is plain memory with
// one owner: a copy continues the hash so far, and needs no free.
#ifndef FERRY_CHASH_H
#define FERRY_CHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t state[8];
    uint64_t length;  // bytes so far
    uint8_t block[64];
    uint8_t portable;  // 1: never the processor's SHA instructions
} chash_sha256;

typedef struct {
    uint64_t state[8];
    uint64_t length;  // bytes so far
    uint8_t block[128];
} chash_sha512;

void chash_sha256_init(chash_sha256 *hash);
/// Like `chash_sha256_init`, but uses portable C: for a test of equal results.
void chash_sha256_init_portable(chash_sha256 *hash);
void chash_sha256_update(chash_sha256 *hash, const void *bytes, size_t count);
/// Writes 32 bytes; the state must be initialised again before its next use.
void chash_sha256_final(chash_sha256 *hash, uint8_t *digest);

void chash_sha512_init(chash_sha512 *hash);
void chash_sha512_update(chash_sha512 *hash, const void *bytes, size_t count);
/// Writes 64 bytes; the state must be initialised again before its next use.
void chash_sha512_final(chash_sha512 *hash, uint8_t *digest);

/// 1 if SHA-256 uses the processor's SHA instructions.
int chash_sha256_accelerated(void);

#endif
