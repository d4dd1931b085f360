internal import FerryBase

extension NearNames {
    /// A sentence that offers names near to one that was not found, or lists them all when none is.
    static func remedy(for name: String, among candidates: [String], _ prefix: String = "") -> String {
        func list(_ names: some Sequence<String>) -> String { names.map { prefix + $0 }.joined(separator: ", ") }
        let near = near(to: name, among: candidates)
        if !near.isEmpty { return "Did you mean \(list(near))?" }
        let known = Set(candidates).sorted()
        if known.isEmpty { return "There are none." }
        return "There are \(list(known.prefix(20)))\(known.count > 20 ? " and others" : "")."
    }
}
