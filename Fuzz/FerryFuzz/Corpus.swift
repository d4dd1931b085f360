import Foundation

/// Small files of the fixtures, which the program finds at its start.
struct Corpus {
    /// Larger files only take longer to read: they repeat the same structures.
    private static let sizeLimit = 48 << 10
    private static let countLimit = 40

    let root: String?
    private let paths: [String]

    init(root: String?) {
        self.root = root
        guard let root, let files = FileManager.default.enumerator(atPath: root) else {
            paths = []
            return
        }
        var paths: [String] = []
        while let file = files.nextObject() as? String { paths.append(file) }
        self.paths = paths.sorted()
    }

    /// Returns the contents of the files whose paths the closure accepts, the smallest first.
    func files(limit: Int = sizeLimit, where isWanted: (String) -> Bool) -> [[UInt8]] {
        guard let root else { return [] }
        var found: [[UInt8]] = []
        for path in paths where isWanted(path) {
            guard let bytes = FileManager.default.contents(atPath: root + "/" + path), !bytes.isEmpty,
                bytes.count <= limit
            else { continue }
            found.append([UInt8](bytes))
        }
        return Array(found.sorted { $0.count < $1.count }.prefix(Self.countLimit))
    }
}
