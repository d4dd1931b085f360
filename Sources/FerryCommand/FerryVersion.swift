/// The version of this program, as the changelog counts.
enum FerryVersion {
    static let text = "0.1.0"
}
