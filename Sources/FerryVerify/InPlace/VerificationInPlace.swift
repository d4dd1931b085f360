package import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerryModel
package import FerrySQLite
package import FerryStore

/// The quick checks of a step in place before COMMIT, on the connection that has altered the store.
///
/// What the old version was is known by then only as far as it was asked before the first statement: its schema, numbers
/// and metadata. Rows are looked at in the tables alone that the step says it writes, since renaming takes as long in a
/// large store as in a small one.
package final class VerificationInPlace {
    private let tables: Set<String>
    private let context: VerificationContext
    /// Rows of no known entity, by the root entity of the old version.
    private var unknownRows: [String: Int64] = [:]
    /// Links of join tables that led to objects of other entities than are declared.
    private var mistakenLinks: Int64 = 0

    private var step: ResolvedStep { context.step }

    /// Looks at the old version: the connection has the store as `main`, inside the step's transaction and before its
    /// statements, which write the rows of some tables of the new version.
    ///
    /// The damage is what was wrong with the store; nil where that was not looked for.
    package init(
        of step: ResolvedStep, writing tables: Set<String>, on connection: Connection, damage: [StoreDamage]?,
        progress: ProgressHook? = nil, stop: StopRequest = StopRequest()
    ) throws {
        self.tables = tables
        let source = try StoreLayout.actual(for: step.source.model, on: connection)
        let surroundings = try SourceSurroundings(before: source, on: connection)
        let verification = Verification(
            mode: .quick, step: step, sourcePath: connection.path, isSourcePrivate: true,
            destinationPath: connection.path, workFolder: "", counts: nil, now: nil, isInPlace: true,
            progress: progress, stop: stop)
        context = try VerificationContext(
            verification, connection, source: source,
            destination: StoreLayout.canonical(for: step.destination.model, foundTriggers: .of(source)),
            surroundings: surroundings)
        func mayHave(_ kind: StoreDamage.Kind) -> Bool { damage?.contains { $0.kind == kind } ?? true }
        let countsLinks = context.destination.joinTables.contains { tables.contains($0.name) } && mayHave(.danglingKey)
        let countsUnknownRows = !tables.isEmpty && mayHave(.unknownEntity)
        guard countsLinks || countsUnknownRows else { return }
        // The old version is asked what is asked of a store by itself.
        let old = try VerificationContext(
            Verification(ofStore: step.source, at: connection.path, isNew: false, workFolder: ""), connection,
            source: source, destination: source, surroundings: surroundings)
        try connection.withMain(named: "destination") {
            if countsLinks { mistakenLinks = try Self.mistakenLinks(in: old) { _ in true }.count }
            if countsUnknownRows { try countUnknownRows(in: old) }
        }
    }

    private func countUnknownRows(in old: VerificationContext) throws {
        let roots = Set(writtenTables.flatMap { formerRoots(of: $0.root) })
        for table in old.destinationTables where roots.contains(table.root) {
            _ = try EntityNumbersCheck.rows(in: table, nil, as: CountsCheck.self, in: old) { _, rows in
                unknownRows[table.root, default: 0] += rows
                return true
            }
        }
    }

    /// The root entities whose objects come into a root table.
    private func formerRoots(of root: String) -> [String] {
        context.keepers(into: root).map { context.sourceModel.root(of: $0.source) }
    }

    private var writtenTables: [EntityTable] { context.destinationTables.filter { tables.contains($0.name) } }

    // MARK: Checks

    /// Looks at the new version, knowing what the entity mappings have read and written.
    ///
    /// Rows are counted of entities that are alone in their tables, as SQLite did where one statement has written them all.
    ///
    /// - Throws: ``FerryError`` `.mandatoryValue`; `.verificationFailed` for the first difference; ``DatabaseError``.
    package func check(_ counts: [EntityMappingCounts], counted: [String: Int64]) throws {
        let rTrees = try context.connection.rows(
            "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE %'")
        try context.connection.withMain(
            named: "destination",
            meeting: context.destination.rTrees.map(\.name).filter { rTrees.contains([.text($0)]) }
        ) { try findDifferences(counts, counted) }
        guard let first = context.report.differences.first else { return }
        let place = first.example.map { ": \($0)" } ?? ""
        throw FerryError(
            .verificationFailed,
            "The store would not be a store of version \(step.destination.name): "
                + "\(first.check)\(first.entity.map { " of \($0)" } ?? "") (\(first.count))\(place). It is as before.",
            remedy: "Migrate to a new store with \(setting: .output), and report this.",
            place: .init(entity: first.entity))
    }

    private func findDifferences(_ counts: [EntityMappingCounts], _ counted: [String: Int64]) throws {
        try SchemaCheck().run(in: context)
        // What else there is to find takes tables and columns that can be read.
        if context.isUnreadable { return }
        try HeaderNumbersCheck().run(in: context)
        try MetadataCheck().run(in: context)
        try KeysCheck().run(in: context)
        try DerivedAttributesCheck().checkTriggers(in: context)
        try RTreesCheck { [tables, source = context.source] new in
            !tables.contains(new.table) && source.rTrees.contains { $0.name == new.name && $0.sql == new.sql }
        }.run(in: context)
        // Rows of no known entity no statement counts as written.
        let counted = counted.filter { entity, _ in
            !formerRoots(of: context.destinationModel.root(of: entity)).contains { unknownRows[$0] != nil }
        }
        try checkCounts(counts, counted)
        try checkMandatoryValues(counted)
        try checkReferences()
    }

    /// The rows of written tables are those that the mappings have written, and those of no known entity as many as before.
    private func checkCounts(_ counts: [EntityMappingCounts], _ counted: [String: Int64]) throws {
        var written: [String: Int64] = [:]
        for count in counts { written[count.destination ?? "", default: 0] += count.written }
        var left: Int64 = 0
        for table in writtenTables {
            var rows = counted.filter { context.destinationModel.root(of: $0.key) == table.root }
            if rows.isEmpty {
                rows = try EntityNumbersCheck.rows(in: table, nil, as: CountsCheck.self, in: context) {
                    left += $1
                    return true
                }
            }
            for entity in context.destinationModel.family(of: table.root) {
                let (found, expected) = (rows[entity] ?? 0, written[entity] ?? 0)
                context.report(
                    CountsCheck.self, entity: entity, count: abs(found - expected),
                    example: "\(table.name) has \(found.counting("row")) instead of \(expected.grouped)")
            }
        }
        context.report(
            CountsCheck.self, entity: nil, count: abs(left - unknownRows.values.reduce(0, +)),
            example: "rows of no known entity")
    }

    /// Attributes that were optional, or are new, have values; in the others nothing became empty that was not before.
    private func checkMandatoryValues(_ counted: [String: Int64]) throws {
        for table in context.destinationTables {
            let empty = step.entityMappings.filter { context.destinationModel.root(of: $0.destination) == table.root }
                .flatMap { mapping in
                    TableTally.mandatory(of: mapping.destination, in: context)
                        .filter { mayBeEmpty($0.attribute, mapping, isCounted: counted[mapping.destination] != nil) }
                        .map { (mapping: mapping, attribute: $0.attribute, column: $0.column) }
                }
            if empty.isEmpty { continue }
            let conditions = try empty.map {
                "Z_ENT = \(try context.destinationNumber(of: $0.mapping.destination)) AND \($0.column) IS NULL"
            }
            let rows = try TableTally.count(conditions, of: table.name, in: .all, context).dropFirst()
            guard let (attribute, count) = zip(empty, rows).first(where: { $0.1 > 0 }) else { continue }
            let entity = attribute.mapping.destination
            throw FerryError(
                .mandatoryValue, "\(entity).\(attribute.attribute) is mandatory and would be empty in \(count) rows.",
                remedy: "Give it a default value in the model, or an expression in a mapping model.",
                place: .init(
                    entityMapping: attribute.mapping.name, entity: entity, property: attribute.attribute))
        }
    }

    /// Not what takes over what was mandatory before, as it was; nor a default that was given to all rows in one statement.
    private func mayBeEmpty(_ attribute: String, _ mapping: ResolvedEntityMapping, isCounted: Bool) -> Bool {
        guard let rule = mapping.attributes.first(where: { $0.name == attribute }),
            let declared = context.destinationModel.attribute(attribute, of: mapping.destination)
        else { return true }
        if let expression = rule.expression {
            guard let name = expression.sourceKeys else { return true }
            return context.sourceModel.attribute(name, of: mapping.source)?.isOptional != false
        }
        return !isCounted || rule.defaultValue(of: declared) == nil
    }

    /// Keys say the entity of the object to which they lead, where either was written; of links no more are wrong than were.
    private func checkReferences() throws {
        for keys in try StoredKeys.all(in: context) where keys.areForeign {
            guard let query = keys.mistaken, tables.contains(keys.table) || tables.contains(keys.other) else {
                continue
            }
            context.report(
                ReferencesCheck.self, entity: keys.relationship.entity,
                count: try context.connection.integer("SELECT count(*) \(query)") ?? 0,
                example: "\(keys.table) \(keys.column)")
        }
        let links = try Self.mistakenLinks(in: context) { tables.contains($0) }
        guard links.count > mistakenLinks else { return }
        context.report(
            ReferencesCheck.self, entity: links.example?.relationship.entity, count: links.count - mistakenLinks,
            example: links.example.map { "\($0.table) \($0.column)" })
    }

    private static func mistakenLinks(
        in context: VerificationContext, of isRead: (String) -> Bool
    ) throws -> (count: Int64, example: StoredKeys?) {
        var found: (count: Int64, example: StoredKeys?) = (0, nil)
        for keys in try StoredKeys.all(in: context) where !keys.areForeign && isRead(keys.table) {
            guard let query = keys.mistaken else { continue }
            let count = try context.connection.integer("SELECT count(*) \(query)") ?? 0
            found.count += count
            if count > 0 { found.example = found.example ?? keys }
        }
        return found
    }
}
