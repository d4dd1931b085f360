#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The time since the machine was started: what was written in it is there even if it was never synced.
package enum SystemSession {
    /// What no other session of any machine has; nil where the system does not tell.
    package static var id: String? {
        #if canImport(Darwin)
            var count = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &count, nil, 0) == 0, count > 1 else { return nil }
            var bytes = [UInt8](repeating: 0, count: count)
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &count, nil, 0) == 0 else { return nil }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            do {
                let bytes = try FileLayer().open("/proc/sys/kernel/random/boot_id").read(count: 64, at: 0)
                return bytes.isEmpty ? nil : String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
            } catch {
                return nil
            }
        #endif
    }
}
