#include "hash.h"

#include <string.h>

uint64_t ferry_folded_by_halves(uint64_t x, uint64_t y) {
    uint64_t low = (x & 0xffffffff) * (y & 0xffffffff), high = (x >> 32) * (y >> 32);
    uint64_t one = (x >> 32) * (y & 0xffffffff), other = (x & 0xffffffff) * (y >> 32);
    uint64_t middle = (low >> 32) + (one & 0xffffffff) + (other & 0xffffffff);
    high += (one >> 32) + (other >> 32) + (middle >> 32);
    return (middle << 32 | (low & 0xffffffff)) ^ high;
}

uint64_t ferry_folded(uint64_t x, uint64_t y) {
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

static void ferry_hash_add(ferry_hash *h, uint64_t word) {
    h->words++;
    h->state = ferry_folded(h->state ^ word, h->factor);
}

static void ferry_hash_bytes(ferry_hash *h, const unsigned char *bytes, size_t count) {
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

uint64_t ferry_hash_row(sqlite3_value *const *row, const long *columns, long count, uint64_t low, uint64_t high) {
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

uint64_t ferry_hash_pair(int64_t first, int64_t second, uint64_t low, uint64_t high) {
    ferry_hash h = {high, low | 1, 0};
    ferry_hash_add(&h, (uint64_t)first);
    ferry_hash_add(&h, (uint64_t)second);
    ferry_hash_add(&h, (SQLITE_INTEGER << 4 | SQLITE_INTEGER) | h.words << 56);
    return ferry_folded(h.state, high | 1);
}
