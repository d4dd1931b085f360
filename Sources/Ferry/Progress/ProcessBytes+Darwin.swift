#if canImport(Darwin)
    package import FerryBase

    extension ProcessBytes {
        /// Nil: Darwin tells of disks alone, not of calls.
        package static func now(files: FileLayer) -> ProcessBytes? { nil }
    }
#endif
