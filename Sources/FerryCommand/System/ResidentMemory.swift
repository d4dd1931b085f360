#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The memory that this process holds now.
enum ResidentMemory {
    /// Nil where the system does not tell.
    static func bytes() -> Int64? {
        #if os(Linux)
            let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            let text = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
            }
            // The second number is resident pages.
            guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int64($0) }) else { return nil }
            return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
        #else
            var information = mach_task_basic_info()
            var count = mach_msg_type_number_t(
                MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size)
            let result = withUnsafeMutablePointer(to: &information) {
                $0.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                    task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
                }
            }
            return result == KERN_SUCCESS ? Int64(information.resident_size) : nil
        #endif
    }
}
