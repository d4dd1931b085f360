internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerryStore

extension RunWork.Step {
    /// The assumed share of new objects among rows of a find-or-create mapping.
    private static let madeOfFound = 0.3

    /// A step of a plan without a copy: all its work is one transaction.
    init(_ step: StepPlan, rows: [String: Int64], bytes: Int64) {
        self.init(isCopy: step.mode == .copy, bytes: Double(bytes), objects: Double(rows.values.reduce(0, +)))
        rewritten = step.partitions.flatMap(\.entityMappings).reduce(0) {
            $0 + Double(rows[$1.mapping.source] ?? $1.rows)
        }
    }

    /// A step of a plan with a copy, with the most rows that it reads and makes.
    ///
    /// `found` are the entities whose objects were found or created, so that there may be fewer; the step adds its own.
    init(
        _ step: StepPlan, _ program: StepProgram, from source: StoreLayout, to destination: StoreLayout,
        reads: ScratchNeed.Rows, makes: ScratchNeed.Rows, found: inout Set<String>
    ) {
        self.init(
            isCopy: step.mode == .copy, bytes: Double(reads.bytes),
            objects: Double(reads.objects.values.reduce(0, +)))
        let mapped = step.partitions.flatMap(\.entityMappings)
        let foundBefore = found
        func rows(_ plan: EntityMappingPlan) -> Double {
            guard !plan.isKnown || plan.isEstimated else { return Double(plan.rows) }
            let entity = plan.mapping.source
            return Double(reads.objects[entity] ?? 0) * (foundBefore.contains(entity) ? Self.madeOfFound : 1)
        }
        // An iteration makes at most the objects that its entity's other mappings do not make.
        let kept = mapped.filter { $0.mapping.iteration == nil }
            .reduce(into: [String: Double]()) { $0[$1.mapping.destination, default: 0] += rows($1) }
        let byPosition = Dictionary(uniqueKeysWithValues: mapped.map { ($0.mapping.position, $0) })
        let keeping = Set(mapped.map(\.mapping).filter(\.keepsPrimaryKey).map(\.name))
        let rowParts = MappingParts(program, keeping: keeping, in: destination)
        let stays = step.keptPart?.positions ?? []
        for pass in StepOperation.passes(step, source) {
            let group = pass.filter { !stays.contains($0) }.compactMap { byPosition[$0] }
            guard let first = group.first else { continue }
            let iterated = first.mapping.iteration != nil
            let entity = first.mapping.destination
            let made = max(0, Double(makes.objects[entity] ?? 0) - (kept[entity] ?? 0))
            mappings.append(
                Mapping(
                    first.mapping.name, rows: group.reduce(0) { $0 + rows($1) }, made: iterated ? made : nil,
                    foundIn: first.mapping.unique.isEmpty ? nil : destination.table(of: entity)?.name,
                    isIterated: iterated,
                    isInSwift: group.contains { $0.executor == .row }, hasPolicy: first.mapping.policy != nil))
            let all = max(1, mappings[mappings.count - 1].rows)
            for member in group {
                mappings[mappings.count - 1].parts.add(
                    rowParts.parts(of: member.mapping, isVerified: false), share: rows(member) / all)
            }
        }
        for assignment in program.fills.relationships where assignment.joinTable == nil {
            let later = assignment.contributions.filter { !$0.isInline }
            let count = later.reduce(0) { $0 + (byPosition[$1.mapping.position].map(rows) ?? 0) }
            if count > 0 { linked.append(Content([assignment.declared.title], rows: count)) }
        }
        // What is known of the values is in the rows made already.
        found.formUnion(
            mapped.filter { !$0.mapping.unique.isEmpty && reads.distinct[$0.mapping.name] == nil }
                .map(\.mapping.destination))
        // A join table that is copied unchanged gets its index first, if the source's index has the same form.
        let copied = Set(program.fills.joinTables.filter { $0.origin != nil }.map(\.table.index.name))
        addContents(of: destination, makes, found, filledWithTable: copied)
        let intoTable = Dictionary(grouping: mapped) { destination.table(of: $0.mapping.destination)?.name ?? "" }
        for index in tables.indices {
            let into = intoTable[tables[index].names[0]] ?? []
            let all = max(1, into.reduce(0) { $0 + rows($1) })
            for member in into {
                tables[index].parts.add(
                    rowParts.parts(of: member.mapping, isVerified: true), share: rows(member) / all)
            }
        }
        rewritten = step.mode == .copy ? 0 : mappings.reduce(0) { $0 + $1.rows }
    }

    /// Takes the work on tables that stay from a copied step, and adds the statements that alter them.
    mutating func leaveTables(of step: StepPlan, statements: [StatementList]) throws {
        lists = statements
        let treatments = try step.treatments()
        let kept = Set(treatments.filter { $0.treatment == .kept }.map(\.name))
        let staying = kept.union(treatments.filter { $0.treatment == .altered }.map(\.name))
        // Pages show the rows of kept tables, and the entries of their indexes.
        tables.removeAll { kept.contains($0.names[0]) }
        indexes.removeAll { $0.table.map(kept.contains) ?? false }
        joins.removeAll { staying.contains($0.names[0]) }
        for index in indexes.indices where indexes[index].table.map(staying.contains) ?? false {
            indexes[index].isEarly = true
        }
    }

    /// The verification of a step in place before its COMMIT: the pages of both stores, and rows of changed tables.
    func secondsBeforeCommit(jobs: Int) -> Double {
        let scale = WorkCosts.jobs / min(max(1, Double(jobs)), WorkCosts.mostJobs)
        let rows = rewritten * Self.changed * (WorkCosts.verifiedRow + width * WorkCosts.verifiedByte)
        return WorkCosts.phase + bytes * WorkCosts.check + rows * scale
    }

    /// The assumed share of rows in tables that a mapping model changes.
    private static let changed = 0.5

    private mutating func addContents(
        of layout: StoreLayout, _ makes: ScratchNeed.Rows, _ found: Set<String>, filledWithTable early: Set<String>
    ) {
        var rowsOfTable: [String: Double] = [:]
        for (entity, count) in makes.objects {
            guard let table = layout.table(of: entity)?.name else { continue }
            rowsOfTable[table, default: 0] += Double(count) * (found.contains(entity) ? Self.madeOfFound : 1)
        }
        tables = rowsOfTable.inOrder { $0.key < $1.key }.map { Content([$0.key], rows: $0.value) }
        joins = layout.joinTables.map { table in
            Content(
                [table.name, table.relationship.title, table.inverse.title],
                rows: Double(makes.links[table.relationship] ?? 0))
        }
        for join in joins { rowsOfTable[join.names[0]] = join.rows }
        indexes = layout.indexes.map { index in
            Content(
                [index.name], rows: rowsOfTable[index.table] ?? 0, isText: layout.holdsTexts(index),
                isEarly: early.contains(index.name), table: index.table)
        }
    }
}

/// The parts of the rows of each mapping of a step.
private struct MappingParts {
    /// The numbers of foreign keys, by position of the mapping.
    private var keys: [Int: (unchanged: Double, found: Double, later: Double)] = [:]
    private let destination: StoreLayout

    /// `keeping`: the mappings whose objects keep their keys.
    init(_ program: StepProgram, keeping: Set<String>, in destination: StoreLayout) {
        self.destination = destination
        for assignment in program.fills.relationships {
            for contribution in assignment.contributions {
                switch contribution.key {
                // A key that is counted, or the source object's own, costs no more than one that is unchanged.
                case .column, .counted: keys[contribution.mapping.position, default: (0, 0, 0)].unchanged += 1
                case .lookedUp
                where contribution.rule.from == .variable("source")
                    && keeping.isSuperset(of: contribution.rule.mappings):
                    keys[contribution.mapping.position, default: (0, 0, 0)].unchanged += 1
                case .lookedUp: keys[contribution.mapping.position, default: (0, 0, 0)].found += 1
                case .afterRows: keys[contribution.mapping.position, default: (0, 0, 0)].later += 1
                }
            }
        }
    }

    /// A verification finds also the keys that follow after all rows.
    func parts(of mapping: ResolvedEntityMapping, isVerified: Bool) -> RunWork.Step.RowParts {
        var parts = RunWork.Step.RowParts()
        parts.values = Double(destination.table(of: mapping.destination)?.columns.count ?? 0)
        let known = keys[mapping.position] ?? (0, 0, 0)
        (parts.keys, parts.links) = (known.unchanged, known.found + (isVerified ? known.later : 0))
        for case let expression? in mapping.attributes.map(\.expression) where expression.sourceKey == nil {
            parts.expressions += Double(expression.partCount)
        }
        return parts
    }
}

extension Expression {
    /// The number of values that an evaluation finds or computes.
    fileprivate var partCount: Int {
        switch self {
        case .constant, .variable, .evaluatedObject: 0
        case .keyPath(let object, let steps): object.partCount + steps.count
        default: parts.reduce(1) { $0 + $1.partCount }
        }
    }
}
