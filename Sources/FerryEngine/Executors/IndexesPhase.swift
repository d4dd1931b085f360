internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Makes the indexes once all rows are there, and records the highest keys.
struct IndexesPhase {
    let context: StepContext

    func run() throws {
        try RunDatabase.shareCaches(for: .indexes, context)
        for operation in context.program.operations {
            switch operation.work {
            case .index(let index):
                try context.once(operation.unit, phase: .indexes, subject: index.name) { try make(index) }
            case .rTree(let rTree):
                try context.once(operation.unit, phase: .indexes, subject: rTree.name) {
                    try context.connection.execute(rTree.sql)
                }
                try context.walk(
                    "rTree:rows:\(rTree.name)", over: "main.\(rTree.table)", phase: .indexes, subject: rTree.name,
                    running: rTree.fill)
            case .highestKeys:
                try context.once(operation.unit, phase: .indexes, subject: nil) { try recordHighestKeys() }
            default: continue
            }
        }
        try RunDatabase.shareCaches(for: .sorting, context)
    }

    /// Makes an index before its time, inside another unit, so that it is filled together with its table.
    func makeEarly(_ index: IndexDefinition) throws {
        try context.connection.execute(index.sql)
        try context.progress.save(ProgressTable.Entry(isDone: true), for: StepOperation.unit(of: index))
    }

    private func make(_ index: IndexDefinition) throws {
        do {
            try context.connection.execute(index.sql)
        } catch {
            guard error.isConstraint else { throw error }
            throw FerryError.duplicates(
                "The rows of \(index.table) break the uniqueness constraint of index \(index.name).", cause: error)
        }
    }

    /// `Z_MAX` of a root entity: never below what its source handed out where keys are kept, nor below a key in use.
    private func recordHighestKeys() throws {
        for (root, table) in context.destination.tables.sorted(by: { $0.key < $1.key }) {
            guard let number = context.destination.number(of: root) else { continue }
            var highest = try context.connection.integer("SELECT max(Z_PK) FROM main.\(table.name)") ?? 0
            highest = max(highest, try KeyBase.lastKeptKey(inTableOf: root, context))
            try context.connection.run(
                "UPDATE main.Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = ?", [.integer(highest), .integer(number)])
        }
    }
}

/// Computes the columns of derived attributes, and makes all triggers when nothing else is left to do.
///
/// They call functions that only Core Data has: a row written after them would fail.
struct DerivedAttributesPhase {
    let context: StepContext

    /// After the indexes, by which the counted objects are found.
    func fill() throws {
        for operation in context.program.operations {
            guard case .derived(let value) = operation.work else { continue }
            try context.walk(
                operation.unit, over: "main.\(value.table)", phase: .indexes, subject: value.attribute.title,
                running: value.update)
        }
    }

    /// After everything else.
    func makeTriggers() throws {
        for operation in context.program.operations {
            guard case .trigger(let trigger) = operation.work else { continue }
            try context.once(operation.unit, phase: .indexes, subject: trigger.name) {
                try context.connection.execute(trigger.sql)
            }
        }
    }
}

extension FerryError {
    /// Rows with equal values, which a unique index cannot hold.
    static func duplicates(_ message: String, cause: DatabaseError) -> FerryError {
        FerryError(
            .rowFailed, message,
            remedy:
                "Let a mapping file merge the duplicates of one entity with \"unique\", or drop them with \"where\".",
            cause: cause)
    }
}
