/// The version of Ferry, as the changelog counts.
public enum FerryVersion {
    public static let text = "0.1.0"
    /// How manifests, records and logs name the tool.
    package static let tool = "ferry \(text)"
}
