// The declarations of the loader are extensions.
#define _GNU_SOURCE

#include "CSystem.h"

#include <stdatomic.h>
#include <stdbool.h>

#ifdef __linux__
#include <features.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/// The whole pages that a segment of an object has of its file.
struct pages {
    uintptr_t low, high;
};

static struct pages pages_of(const struct dl_phdr_info *object, const ElfW(Phdr) * segment) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    // Pages at the ends may be shared with another segment.
    const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    const struct pages pages = {(start + page - 1) & ~(page - 1), (start + segment->p_filesz) & ~(page - 1)};
    return pages;
}

/// Unmaps the read-only pages of one loaded object.
///
/// The pages stay in the page cache, and their next use maps them again.
static int release_code(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size;
    (void)unused;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
        const struct pages pages = pages_of(object, segment);
        // Pages that cannot be released stay mapped, which is harmless.
        if (pages.low < pages.high) (void)madvise((void *)pages.low, pages.high - pages.low, MADV_DONTNEED);
    }
    return 0;
}

/// Divides the mappings of one loaded object, so that the use of a page maps few others with it.
///
/// The kernel maps the sixteen pages around a page that is used, if they are in the page cache, but none of another
/// mapping: of a program of 35 MiB some 14 MiB were mapped at a time, of which a third was used. Neighbours stay apart
/// because their advice differs; huge pages would be no use in parts of this size.
static int divide_mappings(struct dl_phdr_info *object, size_t size, void *unused) {
    static const uintptr_t part = 32 << 10;
    (void)size;
    (void)unused;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
        const struct pages pages = pages_of(object, segment);
        for (uintptr_t place = pages.low; place + part <= pages.high; place += 2 * part) {
            // A system without this advice maps more pages, which is harmless.
            if (madvise((void *)place, part, MADV_NOHUGEPAGE) != 0) return 1;
        }
    }
    return 0;
}
#endif

/// Whether the process runs Ferry alone.
static atomic_bool is_program;

// A sanitizer brings an allocator of its own: glibc's then has nothing to return, and two threads that trim it before its
// first use read a heap that is not set up.
#if defined(__GLIBC__) && !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)
#define TRIMS_MEMORY
#endif

void ferry_release_unused_memory(void) {
#ifdef TRIMS_MEMORY
    malloc_trim(0);
#endif
#ifdef __linux__
    // In an app the code is the app's, and most of it runs all the time.
    if (atomic_load(&is_program)) dl_iterate_phdr(release_code, NULL);
#endif
}

void ferry_map_code_sparsely(void) {
#ifdef __linux__
    dl_iterate_phdr(divide_mappings, NULL);
#endif
}

void ferry_begin_program(void) {
    atomic_store(&is_program, true);
#ifdef __GLIBC__
    // Both grow by default with each large block that is freed, up to 32 MiB: what one value needed once would stay.
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 512 << 10);
#endif
}
