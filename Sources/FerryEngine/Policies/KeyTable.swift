/// Finds what belongs to a name, quickly for the few names that code asks for again and again.
final class KeyTable<Entry> {
    /// What a string is made of in memory: its own bytes if it is short, else where they are and how many.
    private typealias Identity = (UInt64, UInt64)

    private struct Slot {
        var identity: Identity
        /// Held, so that no other string can come to stand where its bytes are.
        var name: String
        var entry: Entry
    }

    private let entries: [String: Entry]
    /// Names that were asked for lately.
    ///
    /// Strings of one identity are equal, and a literal has the same one each time.
    private let recent: UnsafeMutablePointer<Slot?>

    /// Names per policy are few; 2 to the power of 5.
    private static var slots: Int { 32 }

    init(_ entries: [String: Entry]) {
        self.entries = entries
        recent = .allocate(capacity: Self.slots)
        recent.initialize(repeating: nil, count: Self.slots)
    }

    deinit {
        recent.deinitialize(count: Self.slots)
        recent.deallocate()
    }

    var names: some Collection<String> { entries.keys }

    subscript(name: String) -> Entry? {
        let identity = unsafeBitCast(name, to: Identity.self)
        let slot = recent + Int(truncatingIfNeeded: ((identity.0 ^ identity.1) &* 0x9e37_79b9_7f4a_7c15) >> 59)
        if let known = slot.pointee?.identity, known == identity, let entry = slot.pointee?.entry { return entry }
        guard let entry = entries[name] else { return nil }
        slot.pointee = Slot(identity: identity, name: name, entry: entry)
        return entry
    }
}
