internal import FerryBase
internal import FerryEngine
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// What becomes of the things in a store that its model does not explain.
struct CarriedCheck {
    let store: OpenedStore
    let layout: StoreLayout
    let step: StepPlan
    /// Whether a copy comes later; see ``Preflight/isCopiedLater``.
    let isCopiedLater: Bool

    /// What cannot be carried into the new store; reads no rows.
    func refusals() throws -> [FerryError] {
        do {
            if step.mode == .inPlace { return try refusalsInPlace() }
            return try carried()?.refusals ?? []
        } catch {
            throw FerryError.wrapping(error, on: store.path)
        }
    }

    /// Refusals, and what is left behind.
    func check() throws -> (refusals: [FerryError], warnings: [String]) {
        if step.mode == .inPlace { return (try refusalsInPlace(), []) }
        guard let carried = try carried() else { return ([], []) }
        return (carried.refusals, try leftovers(carried) + droppedHistory(carried))
    }

    private func refusalsInPlace() throws -> [FerryError] {
        do {
            _ = try InPlaceRun.plan(step, on: store.sourceGuard.connection)
        } catch let error as FerryError where error.code.consequence == .refused {
            return [error]
        }
        guard isCopiedLater, StoreLayout.refusals(for: step.resolved.destination.model).isEmpty else { return [] }
        // What no copy can take along, whatever the step: a later one would find it only after the first one's work.
        let destination = try StoreLayout.canonical(for: step.resolved.destination.model)
        return try CarriedObjects(of: layout, into: destination, on: store.sourceGuard.connection)
            .refusals.filter { $0.code == .unsupported }
    }

    /// Nil when the new store cannot be laid out, which the plan says already.
    private func carried() throws -> CarriedObjects? {
        guard step.mode == .copy, StoreLayout.refusals(for: step.resolved.destination.model).isEmpty else { return nil }
        let destination = try StoreLayout.canonical(for: step.resolved.destination.model)
        return try CarriedObjects(of: layout, into: destination, on: store.sourceGuard.connection)
    }

    /// Tables and columns of earlier versions, where there is something in them.
    private func leftovers(_ carried: CarriedObjects) throws -> [String] {
        var warnings: [String] = []
        for leftover in carried.leftovers {
            let names = leftover.split(separator: ".", maxSplits: 1).map { Connection.quoted(String($0)) }
            let rows =
                try store.sourceGuard.connection.integer(
                    "SELECT count(\(names.count > 1 ? names[1] : "*")) FROM \(names[0])") ?? 0
            guard rows > 0 else { continue }
            warnings.append("\(leftover) is of an earlier version of the model and is left behind with \(rows) values.")
        }
        return warnings
    }

    private func droppedHistory(_ carried: CarriedObjects) throws -> [String] {
        guard let changes = carried.history?.changes else { return [] }
        let kept = Set(step.resolved.entityMappings.filter(\.keepsPrimaryKey).map(\.source))
        var warnings: [String] = []
        for (entity, number) in layout.entityNumbers.sorted(by: { $0.key < $1.key }) where !kept.contains(entity) {
            let rows =
                try store.sourceGuard.connection.integer(
                    "SELECT count(*) FROM \(changes.quotedName) WHERE ZENTITY = ?", [.integer(number)]) ?? 0
            guard rows > 0 else { continue }
            warnings.append(
                "The history has \(rows) changes of \(entity), whose objects do not keep their keys; they are left out."
            )
        }
        return warnings
    }
}
