internal import FerryBase
internal import FerryStore

/// Writes the files of external values: few, spread over the store, of seeded size and content.
struct ExternalFileMaker {
    private let folder: String
    private let files: FileLayer
    private let sizes: ClosedRange<Int>
    private let seed: UInt64
    /// The distance between two external values that become files; nil for no files.
    private let interval: Int64?
    private var values: Int64 = 0
    private var left: Int

    /// Creates the folder if there will be files; `values` is the number of external values in the store.
    init(forStore path: String, values: Int64, options: GenerationOptions, files: FileLayer) throws {
        folder = ExternalData.folder(forStore: path)
        self.files = files
        sizes = options.externalFileBytes
        seed = options.seed
        left = Int(min(Int64(max(0, options.externalFiles)), values))
        interval = left > 0 ? max(1, values / Int64(left)) : nil
        if left > 0 { try files.createDirectory(folder) }
    }

    /// The reference to a new file for the next external value, or nil if the value is stored in its row.
    mutating func next() throws -> [UInt8]? {
        defer { values += 1 }
        guard left > 0, let interval, values % interval == 0 else { return nil }
        left -= 1
        var random = SeededRandom(seed: seed, "external files".stream, values)
        let name = random.uuid().uuidText
        try write(folder + "/" + name, &random)
        return ExternalData.reference(to: name)
    }

    private func write(_ path: String, _ random: inout SeededRandom) throws {
        var remaining = sizes.lowerBound + Int(random.below(Int64(sizes.count)))
        var file = try files.create(path)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while remaining > 0 {
            let count = min(remaining, buffer.count)
            buffer.withUnsafeMutableBytes { bytes in
                for word in bytes.bindMemory(to: UInt64.self).indices {
                    bytes.storeBytes(of: random.next().littleEndian, toByteOffset: word * 8, as: UInt64.self)
                }
            }
            try buffer.withUnsafeBytes { try file.write(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            remaining -= count
        }
        try file.close()
    }
}
