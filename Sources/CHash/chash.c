// SHA-256 and SHA-512 after FIPS 180-4. The compression function of SHA-256 is chosen at run time: x86 SHA extensions,
// ARMv8 SHA2 instructions, or portable C. SHA-512 is portable C only: it hashes only short data.
#include "chash.h"

#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CHASH_X86 1
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CHASH_ARM 1
#endif

#if defined(CHASH_ARM)
#include <arm_neon.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_SHA2
#define HWCAP_SHA2 (1 << 6)
#endif
#endif
#endif

static const uint32_t k256[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static const uint64_t k512[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static inline uint32_t rotate32(uint32_t value, int count) { return (value >> count) | (value << (32 - count)); }
static inline uint64_t rotate64(uint64_t value, int count) { return (value >> count) | (value << (64 - count)); }

static inline uint32_t read32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline uint64_t read64(const uint8_t *p) { return (uint64_t)read32(p) << 32 | read32(p + 4); }

static inline void write32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> (24 - 8 * i));
}
static inline void write64(uint8_t *p, uint64_t value) {
    write32(p, (uint32_t)(value >> 32));
    write32(p + 4, (uint32_t)value);
}

// MARK: SHA-256, compression

static void compress256_portable(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    while (blocks--) {
        uint32_t w[64];
        for (int i = 0; i < 16; i++) w[i] = read32(bytes + 4 * i);
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = rotate32(w[i - 15], 7) ^ rotate32(w[i - 15], 18) ^ (w[i - 15] >> 3);
            uint32_t s1 = rotate32(w[i - 2], 17) ^ rotate32(w[i - 2], 19) ^ (w[i - 2] >> 10);
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotate32(e, 6) ^ rotate32(e, 11) ^ rotate32(e, 25);
            uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k256[i] + w[i];
            uint32_t s0 = rotate32(a, 2) ^ rotate32(a, 13) ^ rotate32(a, 22);
            uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g; g = f; f = e; e = d + t1;
            d = c; c = b; b = a; a = t1 + t2;
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d;
        state[4] += e; state[5] += f; state[6] += g; state[7] += h;
        bytes += 64;
    }
}

#if defined(CHASH_X86)

// The instructions store the eight words as (A,B,E,F) and (C,D,G,H), highest lane first.
__attribute__((target("sha,sse4.1,ssse3")))
static void compress256_x86(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i dcba = _mm_loadu_si128((const __m128i *)&state[0]);
    __m128i hgfe = _mm_loadu_si128((const __m128i *)&state[4]);
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
    __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);

    while (blocks--) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(bytes + 16 * i)), swap);
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            __m128i words = w[i & 3];
            if (i >= 4) {
                // w[i & 3] still has the four words of 16 steps ago.
                __m128i middle = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
                words = _mm_sha256msg1_epu32(words, w[(i + 1) & 3]);
                words = _mm_add_epi32(words, middle);
                words = _mm_sha256msg2_epu32(words, w[(i + 3) & 3]);
                w[i & 3] = words;
            }
            __m128i input = _mm_add_epi32(words, _mm_load_si128((const __m128i *)&k256[4 * i]));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, input);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(input, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
        bytes += 64;
    }

    __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)&state[0], _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)&state[4], _mm_alignr_epi8(dchg, feba, 8));
}

static int processor_has_sha(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (!(c & (1u << 9)) || !(c & (1u << 19))) return 0;  // SSSE3, SSE4.1
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    return (b >> 29) & 1;  // SHA
}

static void compress256_accelerated(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    compress256_x86(state, bytes, blocks);
}

#elif defined(CHASH_ARM)

#if defined(__APPLE__)
#define CHASH_ARM_TARGET  // the compiler enables these instructions for every Apple arm64 processor
#elif defined(__clang__)
#define CHASH_ARM_TARGET __attribute__((target("sha2")))
#else
#define CHASH_ARM_TARGET __attribute__((target("+crypto")))
#endif

CHASH_ARM_TARGET
static void compress256_accelerated(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    uint32x4_t abcd = vld1q_u32(&state[0]), efgh = vld1q_u32(&state[4]);
    while (blocks--) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w[4];
        for (int i = 0; i < 4; i++) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
#pragma clang loop unroll(full)
        for (int i = 0; i < 16; i++) {
            uint32x4_t words = w[i & 3];
            if (i >= 4) {
                // w[i & 3] still has the four words of 16 steps ago.
                words = vsha256su0q_u32(words, w[(i + 1) & 3]);
                words = vsha256su1q_u32(words, w[(i + 2) & 3], w[(i + 3) & 3]);
                w[i & 3] = words;
            }
            uint32x4_t input = vaddq_u32(words, vld1q_u32(&k256[4 * i]));
            uint32x4_t abcd_now = abcd;
            abcd = vsha256hq_u32(abcd, efgh, input);
            efgh = vsha256h2q_u32(efgh, abcd_now, input);
        }
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
        bytes += 64;
    }
    vst1q_u32(&state[0], abcd);
    vst1q_u32(&state[4], efgh);
}

static int processor_has_sha(void) {
#if defined(__APPLE__)
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname("hw.optional.arm.FEAT_SHA256", &value, &size, NULL, 0) == 0 && value != 0;
#elif defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_SHA2) != 0;
#else
    return 0;
#endif
}

#else

static int processor_has_sha(void) { return 0; }

static void compress256_accelerated(uint32_t state[8], const uint8_t *bytes, size_t blocks) {
    compress256_portable(state, bytes, blocks);
}

#endif

// 0 unknown, 1 no, 2 yes. Threads may detect it at once, with equal results.
static int sha_state = 0;

int chash_sha256_accelerated(void) {
    int known = __atomic_load_n(&sha_state, __ATOMIC_RELAXED);
    if (known == 0) {
        known = processor_has_sha() ? 2 : 1;
        __atomic_store_n(&sha_state, known, __ATOMIC_RELAXED);
    }
    return known == 2;
}

static void compress256(void *any, const uint8_t *bytes, size_t blocks) {
    chash_sha256 *hash = any;
    if (!hash->portable && chash_sha256_accelerated())
        compress256_accelerated(hash->state, bytes, blocks);
    else
        compress256_portable(hash->state, bytes, blocks);
}

// MARK: Streams

typedef void (*compression)(void *hash, const uint8_t *bytes, size_t blocks);

/// Adds bytes; bytes that do not fill a block of `size` bytes stay in `block`.
static void take(
    void *hash, compression compress, uint8_t *block, size_t size, uint64_t *length, const uint8_t *next,
    size_t count) {
    if (count == 0) return;  // an empty buffer may have no address
    size_t held = (size_t)(*length % size);
    *length += count;
    if (held > 0) {
        size_t room = size - held;
        if (count < room) {
            memcpy(block + held, next, count);
            return;
        }
        memcpy(block + held, next, room);
        compress(hash, block, 1);
        next += room;
        count -= room;
    }
    if (count >= size) {
        compress(hash, next, count / size);
        next += count / size * size;
        count %= size;
    }
    memcpy(block, next, count);
}

/// Adds the padding: a bit, zeros, and the number of bits in the last eighth of a block.
static void pad(void *hash, compression compress, uint8_t *block, size_t size, uint64_t length) {
    size_t held = (size_t)(length % size);
    block[held++] = 0x80;
    if (held > size - size / 8) {
        memset(block + held, 0, size - held);
        compress(hash, block, 1);
        held = 0;
    }
    memset(block + held, 0, size - held);
    // The upper half of the number, if any, has only the top three bits of the byte count.
    if (size == 128) write64(block + 112, length >> 61);
    write64(block + size - 8, length << 3);
    compress(hash, block, 1);
}

void chash_sha256_init(chash_sha256 *hash) {
    static const uint32_t initial[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, initial, sizeof initial);
}

void chash_sha256_init_portable(chash_sha256 *hash) {
    chash_sha256_init(hash);
    hash->portable = 1;
}

void chash_sha256_update(chash_sha256 *hash, const void *bytes, size_t count) {
    take(hash, compress256, hash->block, sizeof hash->block, &hash->length, bytes, count);
}

void chash_sha256_final(chash_sha256 *hash, uint8_t *digest) {
    pad(hash, compress256, hash->block, sizeof hash->block, hash->length);
    for (int i = 0; i < 8; i++) write32(digest + 4 * i, hash->state[i]);
}

// MARK: SHA-512

static void compress512(void *hash, const uint8_t *bytes, size_t blocks) {
    uint64_t *state = ((chash_sha512 *)hash)->state;
    while (blocks--) {
        uint64_t w[80];
        for (int i = 0; i < 16; i++) w[i] = read64(bytes + 8 * i);
        for (int i = 16; i < 80; i++) {
            uint64_t s0 = rotate64(w[i - 15], 1) ^ rotate64(w[i - 15], 8) ^ (w[i - 15] >> 7);
            uint64_t s1 = rotate64(w[i - 2], 19) ^ rotate64(w[i - 2], 61) ^ (w[i - 2] >> 6);
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        uint64_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint64_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 80; i++) {
            uint64_t s1 = rotate64(e, 14) ^ rotate64(e, 18) ^ rotate64(e, 41);
            uint64_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k512[i] + w[i];
            uint64_t s0 = rotate64(a, 28) ^ rotate64(a, 34) ^ rotate64(a, 39);
            uint64_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            h = g; g = f; f = e; e = d + t1;
            d = c; c = b; b = a; a = t1 + t2;
        }
        state[0] += a; state[1] += b; state[2] += c; state[3] += d;
        state[4] += e; state[5] += f; state[6] += g; state[7] += h;
        bytes += 128;
    }
}

void chash_sha512_init(chash_sha512 *hash) {
    static const uint64_t initial[8] = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
    };
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, initial, sizeof initial);
}

void chash_sha512_update(chash_sha512 *hash, const void *bytes, size_t count) {
    take(hash, compress512, hash->block, sizeof hash->block, &hash->length, bytes, count);
}

void chash_sha512_final(chash_sha512 *hash, uint8_t *digest) {
    pad(hash, compress512, hash->block, sizeof hash->block, hash->length);
    for (int i = 0; i < 8; i++) write64(digest + 8 * i, hash->state[i]);
}
