/// The version of Ferry, as the changelog counts: the one place that names it.
public enum FerryVersion {
    public static let text = "0.2.0"
    /// When this version was made, as year, month and day.
    package static let date = (year: 2026, month: 11, day: 22)
    /// How manifests, records and logs name the tool.
    package static let tool = "ferry \(text)"
}
