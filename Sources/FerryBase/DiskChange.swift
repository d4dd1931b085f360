/// Something that is done to a disk, for tests that simulate what a power cut leaves of it.
///
/// Told before it is done where it takes something away, else afterwards.
package enum DiskChange {
    case makesFolder(String)
    case created(String)
    case wrote(String, offset: Int64, UnsafeRawBufferPointer)
    case resized(String, Int64)
    /// The content of a file is durable.
    case synced(String)
    /// A new file has the content of another.
    case cloned(String, to: String)
    case linked(String, to: String)
    case removes(String)
    case renames(String, to: String)
    /// The names in a folder are durable.
    case syncedFolder(String)
}

/// Is told of every change, on the thread that makes it.
package typealias DiskWitness = @Sendable (DiskChange) -> Void
