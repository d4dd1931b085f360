internal import FerryModel

extension AttributeType {
    /// Whether every value of this type can be told from its conversion to another one.
    ///
    /// All such pairs are in this table: a pair without a proof loses values.
    func keepsEveryValue(as other: AttributeType) -> Bool {
        if self == other { return true }
        return switch (self, other) {
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
            true
        // A narrower integer fails for a value that it cannot hold.
        case (.integer32, .integer16), (.integer64, .integer32), (.integer64, .integer16): true
        default: false
        }
    }
}
