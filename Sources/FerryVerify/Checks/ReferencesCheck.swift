internal import FerryBase
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Every foreign key leads to a row of a valid entity; its entity column and the inverse agree with the key.
///
/// The source may have dangling keys: a copy has NULL instead, and a store altered in place keeps them.
struct ReferencesCheck: Check {
    static let name = "references"

    func parts(in context: VerificationContext) throws -> [CheckPart] {
        let leading = StoredKeys.all(in: context).filter { Self.mustLeadBack($0, in: context) }.map { keys in
            CheckPart(name: Self.name(of: keys), subject: nil) { context, outcome in
                outcome.leads =
                    try context.connection.value("SELECT 1 \(keys.wrong) \(keys.order) LIMIT 1") == nil
            }
        }
        return leading
            + Self.keys(in: context).map { keys in
                CheckPart(name: Self.name(of: keys), subject: nil) { context, outcome in
                    try context.announce(keys.table)
                    if keys.needOnlyTargets {
                        outcome.isShown = try keys.leadToObjects(on: context.connection)
                    } else {
                        outcome.leads = try report(keys.wrong, of: keys, in: context) == 0
                        outcome.isShown = true
                    }
                }
            }
    }

    /// Checks each key of a column with a dangling key, or with a wrong companion column, which ``TableTally`` counts.
    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        let tallies = try TableTally.all(in: context)
        for keys in Self.keys(in: context) {
            let root = context.destinationModel.root(of: keys.relationship.entity)
            // The keys were read from an index, which must have those of the rows.
            let isIndexWrong = context.report.differences.contains {
                $0.check.rawValue == IndexesCheck.name && $0.entity == root
            }
            let isShown = context.progress.state.outcomes[Self.name(of: keys)]?.isShown == true
            let areSound = tallies[root]?.hasSoundCompanions(keys.relationship) == true
            if !isShown || keys.needOnlyTargets && (isIndexWrong || !areSound) {
                _ = try report(keys.wrong, of: keys, in: context)
            }
            if !areSound, let alone = keys.alone { _ = try report(alone, of: keys, in: context) }
        }
    }

    /// All keys but those of kept tables, which lead to objects that keep theirs.
    private static func keys(in context: VerificationContext) -> [StoredKeys] {
        StoredKeys.all(in: context).filter { !KeptTables.hold($0.table, in: context) }
    }

    /// Whether keys of a kept table are the one side of a one-to-one whose other side is in a table that was written:
    /// only if they lead back do the rows of that table show the relation.
    private static func mustLeadBack(_ keys: StoredKeys, in context: VerificationContext) -> Bool {
        keys.haveInverse && KeptTables.hold(keys.table, in: context) && !KeptTables.hold(keys.other, in: context)
    }

    static func name(of keys: StoredKeys) -> String { partName(keys.relationship, keys.column) }

    /// Whether each key of a side of a one-to-one was shown to lead to an object whose key leads back.
    static func haveShown(_ relationship: PropertyKey, _ column: String, in context: VerificationContext) -> Bool {
        context.progress.state.outcomes[partName(relationship, column)]?.leads == true
    }

    private static func partName(_ relationship: PropertyKey, _ column: String) -> String {
        "references:\(relationship.title) \(column)"
    }

    /// - Returns: The number of faults found, including damage that the store may keep.
    private func report(_ faults: String, of keys: StoredKeys, in context: VerificationContext) throws -> Int64 {
        var count: Int64 = 0
        let found = try context.connection.prepare("SELECT \(keys.holder), \(keys.value) \(faults) \(keys.order)")
        while try found.step() {
            count += 1
            let ends = [0, 1].map { found.isNull($0) ? nil : found.integer($0) }
            if try context.keptDamage.holds(keys.relationship, holder: ends[0], value: ends[1]) { continue }
            context.report(
                ReferencesCheck.self, entity: keys.relationship.entity, example: keys.place(of: found.integer(0)))
            try context.advance(keys.relationship.property, done: 0, total: nil)
        }
        return count
    }
}
