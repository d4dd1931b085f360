// For __GLIBC__ and the prototypes that are defined again here.
#define _GNU_SOURCE
#include "cfloor.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FERRY_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(FERRY_SANITIZED)

// A program's own definitions take precedence over those of the C library, also in the libraries that the program
// loads. glibc keeps its own definitions under these names. `free` is not replaced: all memory is glibc's.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool counting;
static atomic_int_fast64_t allocations;

static inline void count(void) {
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

void cfloor_count_allocations(void) {
    atomic_store(&allocations, 0);
    atomic_store(&counting, true);
}

int64_t cfloor_allocations(void) {
    atomic_store(&counting, false);
    return atomic_load(&allocations);
}

#else

void cfloor_count_allocations(void) {}
int64_t cfloor_allocations(void) { return -1; }

#endif
