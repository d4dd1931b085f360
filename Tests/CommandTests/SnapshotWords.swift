internal import FerrySnapshot

/// The differences in texts about snapshots between a build with Zstandard, as in goldens and pages, and one without.
enum SnapshotWords {
    /// Each pair: the text with Zstandard, the text without.
    static let pairs = [
        (".sqlite.zst", ".sqlite.gz"), ("standard program zstd -d", "standard program gzip -d"),
        ("zstd (default) compresses", "gzip (default) compresses"),
    ]

    /// Returns the text of a golden or a page as this build prints it, with single spaces if it differs.
    static func asTold(_ text: String, by form: SnapshotForm = .preferred) -> String {
        guard form == .gzip else { return text }
        // A sentence may be wrapped anywhere.
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let told = pairs.reduce(line) { $0.replacing($1.0, with: $1.1) }
        return told == line ? text : told
    }
}
