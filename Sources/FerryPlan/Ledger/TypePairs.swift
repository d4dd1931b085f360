internal import FerryModel

/// What a value of one attribute type can lose as a value of another one.
enum PairLoss: Sendable, Hashable {
    /// Every value can be told from the new one.
    case nothing
    /// Digits: of a fraction, or of a number that is longer than the new type holds.
    case digits
    /// Any value but 0 and 1.
    case allButTruth
    /// Every value: no conversion keeps it.
    case everything
}

extension AttributeType {
    /// All pairs are in this table; a pair without a proof loses everything.
    func loss(in other: AttributeType) -> PairLoss {
        if self == other { return .nothing }
        switch (self, other) {
        case (.boolean, .integer16), (.boolean, .integer32), (.boolean, .integer64), (.boolean, .decimal),
            (.boolean, .double), (.boolean, .float), (.boolean, .string),
            (.integer16, .integer32), (.integer16, .integer64), (.integer16, .decimal), (.integer16, .double),
            (.integer16, .float), (.integer16, .string), (.integer16, .date),
            (.integer32, .integer64), (.integer32, .decimal), (.integer32, .double), (.integer32, .string),
            (.integer32, .date), (.integer64, .string),
            (.float, .double), (.float, .decimal), (.float, .string), (.float, .date),
            (.double, .decimal), (.double, .string), (.double, .date), (.decimal, .string), (.date, .double),
            (.date, .decimal), (.date, .string), (.uuid, .string), (.uri, .string), (.binary, .transformable),
            (.transformable, .binary), (.uuid, .binary), (.string, .binary), (.string, .uri),
            (.string, .uuid):
            return .nothing
        // A narrower integer fails for a value that it cannot hold.
        case (.integer32, .integer16), (.integer64, .integer32), (.integer64, .integer16): return .nothing
        case (_, .boolean) where isNumeric: return .allButTruth
        case (.integer32, .float), (.integer64, .float), (.integer64, .double), (.integer64, .decimal),
            (.integer64, .date), (.double, .float), (.decimal, .double), (.decimal, .float), (.decimal, .date),
            (.date, .float):
            return .digits
        case (_, .integer16) where isNumeric || self == .date, (_, .integer32) where isNumeric || self == .date,
            (_, .integer64) where isNumeric || self == .date:
            return .digits
        case (.string, _) where other.isNumeric || other == .date: return .digits
        default: return .everything
        }
    }
}
