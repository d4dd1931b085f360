import Foundation

/// Small files of the fixtures, found when the program starts.
struct Corpus {
    /// Larger ones would only be read more slowly: what they have more of is the same again.
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

    /// The contents of the files whose paths pass, the smallest first.
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
