/// Finds what belongs to a name, quickly for the few names that code asks for again and again.
final class KeyTable<Entry: AnyObject> {
    private let entries: [String: Entry]
    /// Names that were asked for lately, each at a place that follows from its length and its last byte.
    private var recent: [(name: String, entry: Entry)?]

    private static var slots: Int { 32 }

    init(_ entries: [String: Entry]) {
        self.entries = entries
        recent = Array(repeating: nil, count: Self.slots)
    }

    var names: some Collection<String> { entries.keys }

    subscript(name: String) -> Entry? {
        let bytes = name.utf8
        let slot = (bytes.count &* 7 &+ Int(bytes.last ?? 0)) & (Self.slots - 1)
        if let known = recent[slot], known.name == name { return known.entry }
        guard let entry = entries[name] else { return nil }
        recent[slot] = (name, entry)
        return entry
    }
}
