package import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryStore

/// A unit of work of a step: in a file as it is recorded, in the store a part of the one transaction.
package struct StepOperation: Sendable, Equatable {
    package enum Work: Sendable, Equatable {
        /// Statements that need nothing but a connection, together in one unit or each in chunks.
        case statements([ProgramStatement])
        /// The metadata and the cached model of the new version, in a store that has those of the old one.
        case version
        /// The rows of entity mappings, by position, in one pass over a source table.
        case rows([Int])
        /// The links of one contribution to a relationship in chunks, or with nil all of them in one statement that sorts
        /// them; by index in ``TableFills/relationships``.
        case links(Int, contribution: Int?)
        /// A join table, copied from the source's join table with the same links, or with nil filled from scratch.
        case joinTable(JoinTable, from: JoinTable?)
        /// The second and third pass of migration policies.
        case policies
        /// Work on a relationship that needs all of its links.
        case settle(Int)
        case highestKeys
    }

    package let work: Work
    /// The name of the record; for several units the start of their names.
    package let unit: String
    package let phase: Phase
    /// What it works on, for progress; nil if that is no single thing, and for statements with reasons of their own.
    package let subject: String?

    private init(_ work: Work, _ unit: String, _ phase: Phase, of subject: String? = nil) {
        (self.work, self.unit, self.phase, self.subject) = (work, unit, phase, subject)
    }

    /// The operations of tables that stay or are made by statements; those that close the program run in a phase.
    static func altering(
        _ statements: [ProgramStatement], closing: [ProgramStatement], in phase: Phase
    ) -> [StepOperation] {
        [StepOperation(.statements(statements), altered, .rows), StepOperation(.version, "version", .rows)]
            + closing.enumerated().map {
                StepOperation(.statements([$1]), "closing:\($0)", phase, of: $1.reason)
            }
    }

    private static let altered = "altered"

    /// Whether the operation has all statements of the tables that stay or are made from others.
    package var altersTables: Bool { unit == Self.altered }

    package var statements: [ProgramStatement] {
        if case .statements(let statements) = work { statements } else { [] }
    }

    /// The record of an index, which may be made early.
    package static func unit(of index: IndexDefinition) -> String { "index:\(index.name)" }

    package static func unit(ofRowsOf position: Int) -> String { "rows:\(position)" }

    static func all(
        _ step: StepPlan, _ fills: TableFills, _ source: StoreLayout, _ destination: StoreLayout
    ) -> [StepOperation] {
        let (assignments, tables) = (fills.relationships, fills.joinTables)
        let kept = step.keptPart?.positions ?? []
        let passes = passes(step, source).map { $0.filter { !kept.contains($0) } }.filter { !$0.isEmpty }
        var operations = passes.map { pass in
            StepOperation(
                .rows(pass), pass.map(unit(ofRowsOf:)).joined(separator: " "), .rows,
                of: pass.map { step.resolved.entityMappings[$0].name }.joined(separator: ", "))
        }
        operations += links(assignments, tables)
        if step.resolved.hasPolicies { operations.append(StepOperation(.policies, "policy", .relationships)) }
        operations += settling(step.resolved, assignments, tables, destination)
        func add(_ unit: String, _ subject: String, _ statements: ProgramStatement...) {
            operations.append(StepOperation(.statements(statements), unit, .indexes, of: subject))
        }
        // A table that stays keeps its indexes.
        for index in destination.indexes where step.keptPart?.fills(index) ?? true {
            add(
                unit(of: index), index.name,
                ProgramStatement(index.sql, .schema, reason: "indexes", tables: .index(index)))
        }
        for tree in destination.rTrees {
            add(
                "rTree:\(tree.name)", tree.name, ProgramStatement(tree.sql, .schema, reason: "indexes"),
                ProgramStatement(
                    tree.fill, .chunks(over: "main.\(tree.table)"), reason: "indexes",
                    tables: .rows(tree.name, from: tree.table)))
        }
        operations.append(StepOperation(.highestKeys, "highestKeys", .indexes))
        for value in destination.derivedValues {
            let title = value.attribute.title
            add(
                "derived:\(title)", title,
                ProgramStatement(
                    value.update, .chunks(over: "main.\(value.table)"), reason: "derived values of \(title)",
                    tables: .rows(value.table, from: value.table)))
        }
        for trigger in destination.allTriggers where step.keptPart == nil {
            add("trigger:\(trigger.name)", trigger.name, ProgramStatement(trigger.sql, .schema, reason: "triggers"))
        }
        return operations
    }

    /// Groups mappings into passes, by position and in partition order; no mapping precedes one that it may need.
    ///
    /// Consecutive mappings that keep their keys run in any order, so those of one table share a pass.
    package static func passes(_ step: StepPlan, _ source: StoreLayout) -> [[Int]] {
        var passes: [[Int]] = []
        var places: [String: Int] = [:]
        for mapping in step.entityMappings {
            guard mapping.keepsPrimaryKey, mapping.isOneToOne, let table = source.table(of: mapping.source)?.name else {
                places = [:]
                passes.append([mapping.position])
                continue
            }
            if let place = places[table] {
                passes[place].append(mapping.position)
            } else {
                places[table] = passes.count
                passes.append([mapping.position])
            }
        }
        return passes
    }

    private static func links(
        _ assignments: [RelationshipAssignment], _ tables: [JoinTableFill]
    ) -> [StepOperation] {
        var operations: [StepOperation] = []
        for (place, assignment) in assignments.enumerated() {
            let title = assignment.declared.title
            let fill = tables.first { $0.table.name == assignment.joinTable }
            if let fill, let origin = fill.origin {
                operations.append(
                    StepOperation(
                        .joinTable(fill.table, from: origin), unit(of: fill.table), .relationships,
                        of: fill.table.name))
            } else if fill?.order == .sorted {
                operations.append(
                    StepOperation(.links(place, contribution: nil), "join:\(title)", .relationships, of: title))
            } else {
                for (index, contribution) in assignment.contributions.enumerated()
                where !contribution.isInline && contribution.mapping.policy == nil {
                    operations.append(
                        StepOperation(
                            .links(place, contribution: index), "links:\(title):\(contribution.mapping.position)",
                            .relationships, of: title))
                }
            }
        }
        return operations
    }

    private static func settling(
        _ step: ResolvedStep, _ assignments: [RelationshipAssignment], _ tables: [JoinTableFill],
        _ destination: StoreLayout
    ) -> [StepOperation] {
        let gathered = tables.filter { $0.order == .gathered }
        let isGathered = { (place: Int) in gathered.contains { $0.table.name == assignments[place].joinTable } }
        let settle = { (place: Int) in
            let title = assignments[place].declared.title
            return StepOperation(.settle(place), "settle:\(title)", .relationships, of: title)
        }
        var operations = assignments.indices.filter { !isGathered($0) }.map(settle)
        if step.hasPolicies {
            // Positions of ordered relationships to which policies may have added objects.
            for (key, storage) in destination.relationshipStorage.inOrder(by: { $0.key < $1.key }) {
                guard case .foreignKey(let table, let column, _, let order?) = storage else { continue }
                let statement = ProgramStatement(
                    OrderKeys.settle(order, of: table, among: column), .once,
                    reason: "other sides and positions of \(key.title)", tables: .rows(table, from: table))
                operations.append(
                    StepOperation(.statements([statement]), "positions:\(key.title)", .relationships, of: key.title))
            }
        }
        operations += gathered.filter { $0.origin == nil }.map {
            StepOperation(.joinTable($0.table, from: nil), unit(of: $0.table), .relationships, of: $0.table.name)
        }
        return operations + assignments.indices.filter(isGathered).map(settle)
    }

    private static func unit(of table: JoinTable) -> String { "join:\(table.name)" }
}
