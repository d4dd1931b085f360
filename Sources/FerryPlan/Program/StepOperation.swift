package import FerryBase
internal import FerryMapping
internal import FerryModel
package import FerryStore

/// A unit of work of a step: in a copy as it is recorded, in place a part of the one transaction.
package struct StepOperation: Sendable, Equatable {
    package enum Work: Sendable, Equatable {
        /// The rows of entity mappings, by position, in one pass over a source table.
        case rows([Int])
        /// A join table, copied from the source's join table with the same links.
        case copyLinks(JoinTable, from: JoinTable)
        /// All links of a relationship in one statement that sorts them; by index in ``TableFills/relationships``.
        case linkAtOnce(Int)
        /// The links of one contribution to a relationship, in chunks.
        case link(Int, contribution: Int)
        /// The second and third pass of migration policies.
        case policies
        /// Work on a relationship that needs all of its links.
        case settle(Int)
        /// Positions of an ordered relationship to which policies may have added objects.
        case positions(PropertyKey, table: String, column: String, order: String)
        case fillGathered(JoinTable)
        case index(IndexDefinition)
        case rTree(RTree)
        case highestKeys
        /// The app's own objects and persistent history, which only the store describes.
        case appObjects
        case derived(DerivedValue)
        case trigger(TriggerDefinition)
        /// A statement in place, up to the indexes of the new version.
        case statement(ProgramStatement)
        /// The metadata and the cached model of the new version, written in place.
        case version
        /// A view or trigger, created in place after the last row is written.
        case closing(ProgramStatement)
    }

    package let work: Work
    /// The name of the record; for several units the start of their names; empty for work that only steps in place do.
    package let unit: String
    /// The known number of rows that the operation reads.
    package let rows: Int64?

    package var phase: Phase {
        switch work {
        case .rows, .statement, .version: .rows
        case .copyLinks, .linkAtOnce, .link, .policies, .settle, .positions, .fillGathered: .relationships
        case .index, .rTree, .highestKeys, .appObjects, .derived, .trigger, .closing: .indexes
        }
    }

    private init(_ work: Work, _ unit: String, rows: Int64? = nil) {
        (self.work, self.unit, self.rows) = (work, unit, rows)
    }

    init(inPlace statement: ProgramStatement) { self.init(.statement(statement), "") }

    static let version = StepOperation(.version, "")

    static func closing(_ statements: [ProgramStatement]) -> [StepOperation] {
        statements.enumerated().map { StepOperation(.closing($1), "closing:\($0)") }
    }

    /// The statement of work in place; nil for other work.
    package var statement: ProgramStatement? {
        switch work {
        case .statement(let statement), .closing(let statement): statement
        default: nil
        }
    }

    package var isClosing: Bool { if case .closing = work { true } else { false } }

    /// The record of an index, which may be made early.
    package static func unit(of index: IndexDefinition) -> String { "index:\(index.name)" }

    package static func unit(ofRowsOf position: Int) -> String { "rows:\(position)" }

    static func all(
        _ step: StepPlan, _ fills: TableFills, _ rows: RowCounts, _ source: StoreLayout, _ destination: StoreLayout
    ) -> [StepOperation] {
        let (assignments, tables) = (fills.relationships, fills.joinTables)
        let kept = step.keptPart?.positions ?? []
        let passes = passes(step, source).map { $0.filter { !kept.contains($0) } }.filter { !$0.isEmpty }
        var operations = passes.map { pass in
            StepOperation(
                .rows(pass), pass.map(unit(ofRowsOf:)).joined(separator: " "),
                rows: pass.compactMap { rows.byMapping[$0] }.max())
        }
        operations += links(assignments, tables, rows)
        if step.resolved.hasPolicies { operations.append(StepOperation(.policies, "policy")) }
        operations += settling(step.resolved, assignments, tables, destination)
        // A table that stays keeps its indexes.
        operations += destination.indexes.filter { step.keptPart?.fills($0) ?? true }.map {
            StepOperation(.index($0), unit(of: $0), rows: rows.byTable[$0.table])
        }
        operations += destination.rTrees.map {
            StepOperation(.rTree($0), "rTree:\($0.name)", rows: rows.byTable[$0.table])
        }
        operations.append(StepOperation(.highestKeys, "highestKeys"))
        operations.append(StepOperation(.appObjects, "carry"))
        operations += destination.derivedValues.map {
            StepOperation(.derived($0), "derived:\($0.attribute.title)", rows: rows.byTable[$0.table])
        }
        return operations + destination.allTriggers.map { StepOperation(.trigger($0), "trigger:\($0.name)") }
    }

    /// Groups mappings into passes, by position and in partition order; no mapping precedes one that it may need.
    ///
    /// Consecutive mappings that keep their keys run in any order, so those of one table share a pass.
    package static func passes(_ step: StepPlan, _ source: StoreLayout) -> [[Int]] {
        var passes: [[Int]] = []
        var places: [String: Int] = [:]
        for mapping in step.partitions.flatMap(\.entityMappings).map(\.mapping) {
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
        _ assignments: [RelationshipAssignment], _ tables: [JoinTableFill], _ rows: RowCounts
    ) -> [StepOperation] {
        var operations: [StepOperation] = []
        for (place, assignment) in assignments.enumerated() {
            let fill = tables.first { $0.table.name == assignment.joinTable }
            if let fill, let origin = fill.origin {
                operations.append(StepOperation(.copyLinks(fill.table, from: origin), unit(of: fill.table)))
            } else if fill?.order == .sorted {
                operations.append(StepOperation(.linkAtOnce(place), "join:\(assignment.declared.title)"))
            } else {
                for (index, contribution) in assignment.contributions.enumerated()
                where !contribution.isInline && contribution.mapping.policy == nil {
                    let position = contribution.mapping.position
                    operations.append(
                        StepOperation(
                            .link(place, contribution: index), "links:\(assignment.declared.title):\(position)",
                            rows: rows.byMapping[position]))
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
        let settle = { (place: Int) in StepOperation(.settle(place), "settle:\(assignments[place].declared.title)") }
        var operations = assignments.indices.filter { !isGathered($0) }.map(settle)
        if step.hasPolicies {
            for (key, storage) in destination.relationshipStorage.inOrder(by: { $0.key < $1.key }) {
                guard case .foreignKey(let table, let column, _, let order?) = storage else { continue }
                operations.append(
                    StepOperation(
                        .positions(key, table: table, column: column, order: order), "positions:\(key.title)"))
            }
        }
        operations += gathered.filter { $0.origin == nil }.map {
            StepOperation(.fillGathered($0.table), unit(of: $0.table))
        }
        return operations + assignments.indices.filter(isGathered).map(settle)
    }

    private static func unit(of table: JoinTable) -> String { "join:\(table.name)" }
}

/// The rows that a step reads and writes, as far as known.
struct RowCounts {
    /// Source objects by the position of the entity mapping.
    private(set) var byMapping: [Int: Int64] = [:]
    /// Objects by the destination's table, one for each that is read.
    private(set) var byTable: [String: Int64] = [:]

    init(_ step: StepPlan, _ destination: StoreLayout) {
        for plan in step.partitions.flatMap(\.entityMappings) where plan.isKnown {
            byMapping[plan.mapping.position] = plan.rows
            if let table = destination.table(of: plan.mapping.destination)?.name {
                byTable[table, default: 0] += plan.rows
            }
        }
    }
}
