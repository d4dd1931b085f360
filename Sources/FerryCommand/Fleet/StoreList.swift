internal import FerryBase

/// The stores that a command line names, each once.
struct StoreList {
    /// In their order.
    private(set) var stores: [String] = []
    /// Paths of a store that stands before, and its path there.
    private(set) var repeated: [(path: String, first: String)] = []

    /// - Parameters:
    ///   - paths: The words; a store may be named by several, also through a link.
    ///   - files: The file layer.
    /// - Throws: `fileFailed` when it cannot be told what stands at a path.
    init(_ paths: [String], files: FileLayer = FileLayer()) throws(FerryError) {
        struct Key: Hashable { var device: UInt64, inode: UInt64 }
        var known: [Key: String] = [:]
        var missing: Set<String> = []
        for path in paths {
            guard let there = try files.attributesIfPresent(path) else {
                // What is not there is told by its own migration.
                if missing.insert(path).inserted { stores.append(path) } else { repeated.append((path, path)) }
                continue
            }
            let key = Key(device: there.device, inode: there.inode)
            if let first = known[key] {
                repeated.append((path, first))
            } else {
                known[key] = path
                stores.append(path)
            }
        }
    }
}
