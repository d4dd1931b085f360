/// The version of Ferry, as in the changelog; no other place names it.
public enum FerryVersion {
    public static let text = "0.2.0"
    /// The date of this version.
    package static let date = (year: 2026, month: 11, day: 22)
    /// The tool's name in manifests, records and logs.
    package static let tool = "ferry \(text)"
}
