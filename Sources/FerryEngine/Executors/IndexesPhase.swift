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
        try RunDatabase.shareCachesForIndexes(context)
        for index in context.destination.indexes {
            try context.once(Self.unit(of: index), phase: .indexes, subject: index.name) {
                do {
                    try context.connection.execute(index.sql)
                } catch let error as DatabaseError where error.isConstraint {
                    throw FerryError(
                        .rowFailed,
                        "The rows of \(index.table) break the uniqueness constraint of index \(index.name).",
                        remedy: "Let a mapping file merge the duplicates with \"unique\", or drop them with \"where\".",
                        cause: error)
                }
            }
        }
        for rTree in context.destination.rTrees { try make(rTree) }
        try context.once("highestKeys", phase: .indexes, subject: nil) { try recordHighestKeys() }
        try RunDatabase.shareCachesForSorting(context)
    }

    /// Makes an index before its time, inside another unit, so that it is filled together with its table.
    func makeEarly(_ index: IndexDefinition) throws {
        try context.connection.execute(index.sql)
        try context.progress.save(ProgressTable.Entry(isDone: true), for: Self.unit(of: index))
    }

    private static func unit(of index: IndexDefinition) -> String { "index:\(index.name)" }

    private func make(_ rTree: RTree) throws {
        try context.once("rTree:\(rTree.name)", phase: .indexes, subject: rTree.name) {
            try context.connection.execute(rTree.sql)
        }
        let fill = try context.connection.prepare(rTree.fill)
        try context.walk("rTree:rows:\(rTree.name)", table: rTree.table, phase: .indexes, subject: rTree.name) {
            range in
            try fill.bind(range)
            try fill.run()
        }
    }

    /// `Z_MAX` of a root entity: never below what its source handed out where keys are kept, nor below a key in use.
    private func recordHighestKeys() throws {
        for (root, table) in context.destination.tables.sorted(by: { $0.key < $1.key }) {
            guard let number = context.destination.number(of: root) else { continue }
            var highest = try context.connection.integer("SELECT max(Z_PK) FROM main.\(table.name)") ?? 0
            for mapping in context.step.resolved.entityMappings
            where mapping.mayKeepPrimaryKeys && context.destination.model.root(of: mapping.destination) == root {
                highest = max(highest, try KeyBase.highestKey(ofSourceOf: mapping, in: context))
            }
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
        for value in context.destination.derivedValues { try fill(value) }
    }

    /// After everything else.
    func makeTriggers() throws {
        for trigger in context.destination.allTriggers {
            try context.once("trigger:\(trigger.name)", phase: .indexes, subject: trigger.name) {
                try context.connection.execute(trigger.sql)
            }
        }
    }

    private func fill(_ value: DerivedValue) throws {
        let name = value.attribute.title
        let update = try context.connection.prepare(value.update)
        try context.walk("derived:\(name)", table: value.table, phase: .indexes, subject: name) { range in
            try update.bind(range)
            try update.run()
        }
    }
}
