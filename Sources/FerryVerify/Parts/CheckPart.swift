internal import FerryBase
internal import FerryMapping

/// A part of a check that a walker makes by itself.
struct CheckPart: Sendable {
    /// Different from those of all other parts.
    let name: String
    /// What progress says that it is about.
    let subject: String?
    /// How many rows all parts of the same subject come by together, where that is known.
    var total: Int64?
    /// Reports into the walker's own context, and leaves in the outcome what its check wants to know.
    let make: @Sendable (VerificationContext, inout PartOutcome) throws -> Void
}

/// What a part has found.
struct PartOutcome: Sendable, Codable {
    var checked: Int64 = 0
    var notRecomputed: Int64 = 0
    var differences: [VerificationReport.Difference] = []
    /// Whether the store cannot be read on.
    var isUnreadable = false
    /// Rows that it came by.
    var rows: Int64 = 0
    /// What the mappings read, wrote and dropped of these rows.
    var counts: [EntityMappingCounts]?
    /// Rows of a table, or entries of an index.
    var counted: Int64?
    /// As ``TableTally`` counts.
    var tally: [Int64]?
    /// Sums of entries that indexes have, or should have.
    var sums: [EntrySum]?
    /// Entries of an index that are out of their place.
    var misplaced: Int64?
    /// Whether the keys that an index begins with lead to objects, where its reading shows that.
    var leads: Bool?
    /// Objects that a mapping makes of its rows.
    var made: Int64?
    /// Whether what it was to show is shown; if not, the check itself says what is wrong.
    var isShown = false
    /// Relations whose keys are not shown to be right by the rows that hold them.
    var unshown: Set<String>?

    /// All numbers of rows in it, but for the counts of mappings.
    var numbers: [Int64] {
        let single = [checked, notRecomputed, rows, made ?? 0, counted ?? 0, misplaced ?? 0]
        return single + (tally ?? []) + (sums ?? []).map(\.count)
    }
}

extension VerificationContext {
    /// Makes a part and takes what it reported.
    func make(_ part: CheckPart) throws -> PartOutcome {
        (report, isUnreadable) = (VerificationReport(mode: verification.mode), false)
        var outcome = PartOutcome()
        try verification.stop.check()
        try part.make(self, &outcome)
        outcome.checked = report.checked
        outcome.notRecomputed = report.notRecomputed
        outcome.differences = report.differences
        outcome.isUnreadable = isUnreadable
        return outcome
    }
}

extension VerificationReport {
    mutating func add(_ outcome: PartOutcome) {
        checked += outcome.checked
        notRecomputed += outcome.notRecomputed
        for found in outcome.differences {
            add(check: found.check, entity: found.entity, count: found.count, example: found.example)
        }
    }
}
