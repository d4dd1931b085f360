package import FerryBase
internal import FerryExpression
package import FerryMapping
internal import FerryModel
package import FerrySQLite
package import FerryStore

/// The quick checks of a step in place before COMMIT, on the connection that has altered the store.
///
/// Of the old version it knows only schema, numbers and metadata, read before the first statement. Checks read rows
/// only in tables that the step writes, since renaming must not take longer in a large store.
package final class VerificationInPlace {
    private let tables: Set<String>
    private let context: VerificationContext
    /// Rows of no known entity, by root entity of the old version.
    private var unknownRows: [String: Int64] = [:]
    /// Join table links that led to objects of a wrong entity.
    private var wrongLinks: Int64 = 0
    private let links: LinksInPlace

    private var step: ResolvedStep { context.step }

    /// Reads the old version, in the step's transaction before its statements; the connection has it as `main`.
    ///
    /// The step writes rows of `tables`. The damage is that found in the store, nil if no check looked for it. The
    /// migration has told which links it loses.
    package init(
        of step: ResolvedStep, writing tables: Set<String>, on connection: Connection, damage: [StoreDamage]?,
        told: [ToldLoss]? = nil, progress: ProgressHook? = nil, stop: StopRequest = StopRequest()
    ) throws {
        self.tables = tables
        let source = try StoreLayout.actual(for: step.source.model, on: connection)
        let surroundings = try SourceSurroundings(before: source, on: connection)
        var verification = Verification(
            mode: .quick, of: .altered, step: step, sourcePath: connection.path, isSourcePrivate: true,
            destinationPath: connection.path, workFolder: "", counts: nil, now: nil,
            progress: progress, stop: stop)
        verification.told = told
        let context = try VerificationContext(
            verification, connection, source: source,
            destination: StoreLayout.canonical(for: step.destination.model, foundTriggers: .of(source)),
            surroundings: surroundings)
        self.context = context
        func mayHave(_ kind: DamageKind) -> Bool { damage?.contains { $0.kind == kind } ?? true }
        let mayDangle = [DamageKind.danglingKey, .unknownEntity, .oneSidedInverse].contains(where: mayHave)
        links = try connection.withMain(named: "source") {
            try LinksInPlace(context, writing: tables, mayDangle: mayDangle)
        }
        let countsLinks = context.destination.joinTables.contains { tables.contains($0.name) } && mayHave(.danglingKey)
        let countsUnknownRows = !tables.isEmpty && mayHave(.unknownEntity)
        guard countsLinks || countsUnknownRows else { return }
        // The same queries as for a store on its own.
        let old = try VerificationContext(
            Verification(ofStore: step.source, at: connection.path, isNew: false, workFolder: ""), connection,
            source: source, destination: source, surroundings: surroundings)
        try connection.withMain(named: "destination") {
            if countsLinks { wrongLinks = try Self.wrongLinks(in: old) { _ in true }.count }
            if countsUnknownRows { try countUnknownRows(in: old) }
        }
    }

    private func countUnknownRows(in old: VerificationContext) throws {
        let roots = Set(writtenTables.flatMap { context.sourceRoots(into: $0.root) })
        for table in old.destinationTables where roots.contains(table.root) {
            _ = try EntityNumbersCheck.rows(in: table, nil, as: CountsCheck.self, in: old) { _, rows in
                unknownRows[table.root, default: 0] += rows
                return true
            }
        }
    }

    private var writtenTables: [EntityTable] { context.destinationTables.filter { tables.contains($0.name) } }

    // MARK: Checks

    /// Checks the new version, with the counts of the entity mappings.
    ///
    /// `counted` has the row count of an entity that is alone in its table, if one statement wrote all of its rows.
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
            "The result would not match version \(step.destination.name): "
                + "\(first.title)\(place). The store is unchanged.",
            remedy: """
                Copy every row instead, with \(setting: .executor, .choice("row")) and \(on: .restart), and report this.
                """,
            place: .init(entity: first.entity))
    }

    private func findDifferences(_ counts: [EntityMappingCounts], _ counted: [String: Int64]) throws {
        try SchemaCheck().run(in: context)
        // The other checks need these tables and columns.
        if context.isUnreadable { return }
        try HeaderNumbersCheck().run(in: context)
        try MetadataCheck().run(in: context)
        try KeysCheck().run(in: context)
        try DerivedAttributesCheck().checkTriggers(in: context)
        try RTreesCheck { [tables, source = context.source] new in
            !tables.contains(new.table) && source.rTrees.contains { $0.name == new.name && $0.sql == new.sql }
        }.run(in: context)
        // No statement counts rows of no known entity as written.
        let counted = counted.filter { entity, _ in
            !context.sourceRoots(into: context.destinationModel.root(of: entity)).contains { unknownRows[$0] != nil }
        }
        try checkCounts(counts, counted)
        try checkMandatoryValues(counted)
        try checkReferences()
        try links.check(in: context)
    }

    /// Checks that written tables have the rows that the mappings wrote, and as many rows of no known entity as before.
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

    /// Checks for NULLs in mandatory attributes that are new or were optional; NULLs of others were there before.
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
            guard let place = rows.firstIndex(where: { $0 > 0 }) else { continue }
            let (attribute, count) = (empty[place - rows.startIndex], rows[place])
            let entity = attribute.mapping.destination
            let key = try context.connection.integer(
                "SELECT min(Z_PK) FROM destination.\(table.name) WHERE \(conditions[place - rows.startIndex])")
            throw FerryError(
                .mandatoryValue,
                "\(entity).\(attribute.attribute) is mandatory in version \(step.destination.name) and would be empty in "
                    + "\(count.counting("row"))\(key.map { " (such as key \($0))" } ?? "").",
                remedy: "Give it a default value in the model, or an expression in a mapping model.",
                place: .init(
                    entityMapping: attribute.mapping.name, entity: entity, property: attribute.attribute,
                    primaryKey: key))
        }
    }

    /// Whether an attribute may have become NULL: not if it was mandatory and is copied, nor if all rows got a default.
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

    /// Checks that written keys have the right entity, and that no more links than before lead to a wrong one.
    private func checkReferences() throws {
        for keys in try StoredKeys.all(in: context) where keys.areForeign {
            guard let query = keys.wrongEntityQuery, tables.contains(keys.table) || tables.contains(keys.other) else {
                continue
            }
            context.report(
                ReferencesCheck.self, entity: keys.relationship.entity,
                count: try context.connection.integer("SELECT count(*) \(query)") ?? 0,
                example: "\(keys.table) \(keys.column)")
        }
        let links = try Self.wrongLinks(in: context) { tables.contains($0) }
        guard links.count > wrongLinks else { return }
        context.report(
            ReferencesCheck.self, entity: links.example?.relationship.entity, count: links.count - wrongLinks,
            example: links.example.map { "\($0.table) \($0.column)" })
    }

    private static func wrongLinks(
        in context: VerificationContext, of isRead: (String) -> Bool
    ) throws -> (count: Int64, example: StoredKeys?) {
        var found: (count: Int64, example: StoredKeys?) = (0, nil)
        for keys in try StoredKeys.all(in: context) where !keys.areForeign && isRead(keys.table) {
            guard let query = keys.wrongEntityQuery else { continue }
            let count = try context.connection.integer("SELECT count(*) \(query)") ?? 0
            found.count += count
            if count > 0 { found.example = found.example ?? keys }
        }
        return found
    }
}
