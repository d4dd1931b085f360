internal import CSystem

/// The memory that this process holds now.
package enum ResidentMemory {
    /// Nil where the system does not tell.
    package static func bytes() -> Int64? {
        let bytes = ferry_resident_bytes()
        return bytes >= 0 ? bytes : nil
    }
}
