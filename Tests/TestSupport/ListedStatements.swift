/// The statements of a migration that a plan lists.
public enum ListedStatements {
    private static let words = ["INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "WITH"]
    /// The run's own records, and the lookups of `unique`.
    private static let records = ["ferry_progress", "last_unit", "scratch.lookups", "scratch.\"lookup_"]

    /// Returns the statements that change data, except those on records of the run.
    public static func changes(_ texts: [String]) -> Set<String> {
        Set(
            texts.filter { text in
                words.contains { text.hasPrefix($0) } && !records.contains { text.contains($0) }
            })
    }
}
