internal import FerrySnapshot

/// The differences in texts about snapshots between a build with Zstandard, as in goldens and pages, and one without.
enum SnapshotWords {
    /// Each pair: the text with Zstandard, the text without.
    static let pairs = [
        (".sqlite.zst", ".sqlite.gz"), ("standard program zstd -d", "standard program gzip -d"),
        ("zstd (default) compresses", "gzip (default) compresses"),
        (
            "Compression level of Zstandard, from 1 (default, fastest) to 19 (smallest).",
            "Compression level of gzip, from 1 (default, fastest) to 9 (smallest)."
        ),
        ("Expected a whole number from 1 to 19.", "Expected a whole number from 1 to 9."),
        (
            "A snapshot of level 12 needs 9 MiB, more than a memory limit of 24 MiB leaves for it. "
                + "Use --snapshot-level 6, or --memory-limit 27MiB.",
            "--snapshot-level cannot be \"12\". Expected a whole number from 1 to 9."
        ),
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
