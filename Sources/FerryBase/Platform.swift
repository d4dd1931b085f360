internal import CSystem

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Ends the process without running anything more of it, as `kill -9` would.
package func exitAtOnce() -> Never { _exit(137) }

/// Gives memory that nothing uses any more back to the system.
///
/// glibc keeps freed memory below the last block in use, so that what one phase held would count beside what the next
/// one needs; other systems give it back by themselves.
package func releaseFreedMemory() { ferry_release_freed_memory() }
