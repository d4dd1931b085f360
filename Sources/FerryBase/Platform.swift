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

/// Gives memory that nothing uses at the moment back to the system.
///
/// glibc keeps freed memory below the last block in use, and Linux keeps the pages of code that has done its work, so
/// that what one phase held would count beside what the next one needs; other systems do both by themselves.
package func releaseUnusedMemory() { ferry_release_unused_memory() }
