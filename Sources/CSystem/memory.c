// The declarations of the loader are extensions.
#define _GNU_SOURCE

#include "CSystem.h"

#ifdef __linux__
#include <features.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/// Unmaps the read-only pages of one loaded object.
///
/// The pages stay in the page cache, and their next use maps them again. The kernel maps sixteen pages around each used
/// one, so that after the reads of models and the planning most of the program is mapped.
static int release_code(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size;
    (void)unused;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
        // Only whole pages: those at the ends may be shared with a writable segment.
        const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        const uintptr_t low = (start + page - 1) & ~(page - 1);
        const uintptr_t high = (start + segment->p_filesz) & ~(page - 1);
        // Pages that cannot be released stay mapped, which is harmless.
        if (low < high) (void)madvise((void *)low, high - low, MADV_DONTNEED);
    }
    return 0;
}
#endif

void ferry_release_unused_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
#ifdef __linux__
    dl_iterate_phdr(release_code, NULL);
#endif
}

void ferry_return_large_blocks(void) {
#ifdef __GLIBC__
    // Both grow by default with each large block that is freed, up to 32 MiB: what one value needed once would stay.
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 512 << 10);
#endif
}
