internal import FerryEngine
internal import FerryMapping
internal import FerryPlan
internal import FerryStore

extension RunWork.Step {
    /// How many of the objects that are looked up by their values are made, where nothing tells.
    private static let madeOfFound = 0.3

    /// A step of a plan without a copy: what it does is done in one transaction.
    init(_ step: StepPlan, rows: [String: Int64], bytes: Int64) {
        self.init(isCopy: step.mode == .copy, bytes: Double(bytes))
        let mapped = step.partitions.flatMap(\.entityMappings)
        mappings = mapped.map { Mapping($0.mapping.name, rows: Double(rows[$0.mapping.source] ?? $0.rows)) }
        rewritten = mappings.reduce(0) { $0 + $1.rows }
    }

    /// A step of a plan that has a copy.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - source: The layout of what it reads.
    ///   - destination: The layout of what it makes.
    ///   - reads: The rows of the source, at most.
    ///   - makes: The rows that it makes, at most.
    ///   - found: Entities whose objects were found or created, so that there may be fewer; those of this step are added.
    init(
        _ step: StepPlan, from source: StoreLayout, to destination: StoreLayout, reads: ScratchNeed.Rows,
        makes: ScratchNeed.Rows, found: inout Set<String>
    ) {
        self.init(isCopy: step.mode == .copy, bytes: Double(reads.bytes))
        let mapped = step.partitions.flatMap(\.entityMappings)
        let foundBefore = found
        func rows(_ plan: EntityMappingPlan) -> Double {
            guard !plan.isKnown || plan.isEstimated else { return Double(plan.rows) }
            let entity = plan.mapping.source
            return Double(reads.objects[entity] ?? 0) * (foundBefore.contains(entity) ? Self.madeOfFound : 1)
        }
        // What an iteration makes stands among what its entity gets, at most.
        let kept = mapped.filter { $0.mapping.iteration == nil }
            .reduce(into: [String: Double]()) { $0[$1.mapping.destination, default: 0] += rows($1) }
        let byPosition = Dictionary(uniqueKeysWithValues: mapped.map { ($0.mapping.position, $0) })
        for pass in StepOperation.passes(step, source) {
            let group = pass.compactMap { byPosition[$0] }
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
        }
        found.formUnion(mapped.filter { !$0.mapping.unique.isEmpty }.map(\.mapping.destination))
        addContents(of: destination, makes, found)
        rewritten = step.mode == .copy ? 0 : mappings.reduce(0) { $0 + $1.rows }
    }

    private mutating func addContents(of layout: StoreLayout, _ makes: ScratchNeed.Rows, _ found: Set<String>) {
        var rowsOfTable: [String: Double] = [:]
        for (entity, count) in makes.objects {
            guard let table = layout.table(of: entity)?.name else { continue }
            rowsOfTable[table, default: 0] += Double(count) * (found.contains(entity) ? Self.madeOfFound : 1)
        }
        tables = rowsOfTable.sorted { $0.key < $1.key }.map { Content([$0.key], rows: $0.value) }
        joins = layout.joinTables.map { table in
            Content(
                [table.name, table.relationship.title, table.inverse.title],
                rows: Double(makes.links[table.relationship] ?? 0))
        }
        for join in joins { rowsOfTable[join.names[0]] = join.rows }
        var texts: [String: [String]] = [:]
        for table in layout.tables.values {
            texts[table.name] = table.columns.filter { $0.type == "VARCHAR" }.map(\.name)
        }
        indexes = layout.indexes.map { index in
            Content(
                [index.name], rows: rowsOfTable[index.table] ?? 0,
                isText: texts[index.table]?.contains { index.sql.contains($0) } == true)
        }
    }
}
