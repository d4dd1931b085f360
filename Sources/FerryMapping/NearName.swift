internal import FerryBase

/// A clause for a message about an unknown name: what was meant, or nothing.
func nearNameHint(_ name: String, among candidates: some Sequence<String>) -> String {
    NearNames.near(to: name, among: candidates).first.map { "; did you mean \"\($0)\"?" } ?? ""
}
