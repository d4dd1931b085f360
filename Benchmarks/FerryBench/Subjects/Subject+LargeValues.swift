internal import FerryGenerate
internal import FerrySQLite
internal import FerryStore

extension Subject {
    static let largeValueBytes = 64 << 20

    /// Rows of one binary value of 64 MiB, far larger than a chunk or a cache.
    static let largeValues = Subject(
        old: blobs.old, new: blobs.new, mapping: blobs.mapping,
        options: { rows in
            GenerationOptions(
                rowsOfEntity: ["Photo": Int64(rows)], emptyPercent: 0,
                values: [
                    PropertyKey("Photo", "content"): { _, random in
                        let words = (0..<(largeValueBytes / 8)).map { _ in random.next() }
                        return .blob(words.withUnsafeBytes { Array($0) })
                    }
                ])
        })
}
