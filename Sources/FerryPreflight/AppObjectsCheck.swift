internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The objects in a store that its model does not explain: those that cannot be carried, and those that are left behind.
struct AppObjectsCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    /// The objects that cannot be carried into the new store; reads no rows.
    func refusals() throws -> [FerryError] { try refusals(of: appObjects(isInPlace: isInPlace)) }

    mutating func check() throws {
        let appObjects = try appObjects(isInPlace: isInPlace)
        let refused = try refusals(of: appObjects)
        findings.refusals += refused
        guard let appObjects else { return }
        let inTheWay = try findLeftoversInTheWay(appObjects.leftovers)
        // Only a table that is not rewritten keeps columns that no model explains.
        let kept = try refused.isEmpty && isInPlace ? Set(input.inPlace.program().moves.altered.keys) : []
        try findLeftovers(appObjects.leftovers, besides: inTheWay, keptIn: kept)
        for object in appObjects.dropped {
            findings.droppedObjects.append(object.name)
            warn(
                .droppedObject, "The \(object.type) \(object.name) is left out, as requested.",
                about: .init(object: object.name))
        }
        try findDroppedHistory(appObjects)
        try findLostHistory()
    }

    /// Objects that no copy can carry: otherwise a later copy step would find them after the first step's work.
    private func refusalsOfLaterCopy() throws -> [FerryError] {
        guard isCopiedLater else { return [] }
        return try appObjects(isInPlace: false)?.refusals.filter { $0.code == .unsupported } ?? []
    }

    /// The reasons why the new store cannot be laid out with the objects of this store.
    private var layoutRefusals: [FerryError] {
        StoreLayout.refusals(for: step.resolved.destination.model, foundTriggers: .of(layout))
    }

    /// The layout of the new store, if there is one.
    private func destination() throws -> StoreLayout? {
        guard layoutRefusals.isEmpty else { return nil }
        return try StoreLayout.canonical(for: step.resolved.destination.model, foundTriggers: .of(layout))
    }

    /// The objects beside the model; nil if the new store cannot be laid out.
    private func appObjects(isInPlace: Bool) throws -> AppObjects? {
        try destination().map {
            try AppObjects(of: layout, into: $0, on: connection, dropping: options.dropping, inPlace: isInPlace)
        }
    }

    private func refusals(of appObjects: AppObjects?) throws -> [FerryError] {
        guard let appObjects else { return layoutRefusals }
        let fields = [input.refusalOfChangedFields(appObjects, by: step.resolved)].compactMap { $0 }
        if isInPlace {
            let unknown = appObjects.refusals.filter { $0.code == .unknownObject }
            guard unknown.isEmpty else { return unknown }
            if case .failure(let refusal) = try input.inPlace.attempt() { return [refusal] }
            return fields + (try refusalsOfLaterCopy())
        }
        let mirroring = try appObjects.mirroringRefusal(of: step.resolved, layout, on: connection)
        return appObjects.refusals + ([mirroring].compactMap { $0 } + fields).prefix(1)
    }

    /// Finds tables and columns of earlier versions, and counts their rows and values.
    private mutating func findLeftovers(
        _ leftovers: [Leftover], besides inTheWay: Set<Leftover>, keptIn tables: Set<String>
    ) throws {
        for leftover in leftovers {
            let rows = try leftover.count(on: connection)
            findings.leftovers.append((leftover, rows))
            let isLost = !isInPlace || (leftover.kind == .column && !tables.contains(leftover.table))
            guard let rows, rows > 0, isLost, !inTheWay.contains(leftover) else { continue }
            warn(
                .leftover,
                "\(leftover.name) is of an earlier version of the model and is left behind with "
                    + "\(rows.counting(leftover.kind == .table ? "row" : "value")).",
                about: .init(object: leftover.name))
        }
    }

    /// Finds the losses by tables and columns with rows that have the names of new tables and columns, as a migration
    /// leaves them that stopped half way: the new ones begin empty.
    ///
    /// Returns the leftovers with rows.
    @discardableResult
    mutating func findLeftoversInTheWay(_ leftovers: [Leftover]? = nil) throws -> Set<Leftover> {
        let found = try leftovers ?? Leftover.all(in: layout, on: connection)
        guard !found.isEmpty, let destination = try destination() else { return [] }
        var inTheWay: Set<Leftover> = []
        for leftover in found {
            let heirs = step.resolved.entityMappings.filter { layout.table(of: $0.source)?.name == leftover.table }
            guard let place = destination.place(of: leftover, heirs: heirs.map(\.destination)),
                let rows = try leftover.count(on: connection), rows > 0
            else { continue }
            inTheWay.insert(leftover)
            let loss = noteLoss(place.entity, place.property, .exactly(rows), .inTheWay(leftover.name))
            warn(.loss, loss.sentence, about: .init(entity: place.entity, property: place.property))
        }
        return inTheWay
    }

    /// Finds the parts of the history that become empty since they number an entity's properties or preserved values.
    mutating func findLostHistory() throws {
        let catalog = try StoreCatalog(connection)
        guard let table = catalog.tables.first(where: { $0.name.uppercased() == "ACHANGE" }) else { return }
        let columns = table.columns.map { $0.name.uppercased() }
        let tombstones = columns.filter { $0.hasPrefix("ZTOMBSTONE") }
        // By entity of the step at hand: the number in the store, and the columns of each part that is still there.
        var numbers = layout.entityNumbers.mapValues {
            (number: $0, parts: [columns.contains("ZCOLUMNS") ? ["ZCOLUMNS"] : [], tombstones])
        }
        for (index, step) in input.plan.steps.enumerated() {
            var next: [String: (number: Int64, parts: [[String]])] = [:]
            for mapping in step.resolved.entityMappings where mapping.keepsPrimaryKey {
                guard var known = numbers[mapping.source], next[mapping.destination] == nil else { continue }
                let kept = HistoryTables.keeps(of: mapping.entities, in: step.resolved.versions.map(\.model))
                for (part, isKept) in [kept.columns, kept.tombstones].enumerated() where !isKept {
                    try noteLostHistory(known.parts[part], of: mapping, known.number, index + 1, step, in: table)
                    known.parts[part] = []
                }
                next[mapping.destination] = known
            }
            numbers = next
        }
    }

    private mutating func noteLostHistory(
        _ columns: [String], of mapping: ResolvedEntityMapping, _ number: Int64, _ index: Int, _ step: StepPlan,
        in table: StoreCatalog.Table
    ) throws {
        guard !columns.isEmpty else { return }
        let isThere = columns.map { "\(Connection.quoted($0)) IS NOT NULL" }.balanced(by: "OR")
        let count =
            try connection.integer(
                "SELECT count(*) FROM \(Connection.quoted(table.name)) WHERE ZENTITY = ? AND (\(isThere))",
                [.integer(number)]) ?? 0
        guard count > 0 else { return }
        let loss = ChainLoss(
            entity: table.name, property: columns == ["ZCOLUMNS"] ? "ZCOLUMNS" : "ZTOMBSTONE",
            entities: [mapping.source],
            version: step.versions.last ?? step.resolved.destination.name, step: index,
            cause: .history(mapping.source), count: .exactly(count))
        findings.losses.append(loss)
        warn(.loss, loss.sentence, about: .init(entity: mapping.source))
    }

    private mutating func findDroppedHistory(_ appObjects: AppObjects) throws {
        guard let changes = appObjects.history?.changes else { return }
        let kept = Set(step.resolved.entityMappings.filter(\.keepsPrimaryKey).map(\.source))
        for (entity, number) in layout.entityNumbers.inOrder(by: { $0.key < $1.key }) where !kept.contains(entity) {
            let rows =
                try connection.integer(
                    "SELECT count(*) FROM \(changes.quotedName) WHERE ZENTITY = ?", [.integer(number)]) ?? 0
            guard rows > 0 else { continue }
            warn(
                .droppedHistory,
                "The history has \(rows.counting("change")) of \(entity), whose objects do not keep their keys; they are left out.",
                about: .init(entity: entity))
        }
    }
}

extension PreflightInput {
    /// The refusal of a property of a mirrored store that a step renames or makes of another type, unless allowed.
    func refusalOfChangedFields(_ appObjects: AppObjects, by step: ResolvedStep) -> FerryError? {
        breaksSync || appObjects.mirroring == nil ? nil : MirroringRefusal.changedProperty(by: step)
    }
}
