internal import FerryBase
internal import FerrySQLite
internal import FerryStore

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
        let name = "\(value.attribute.entity).\(value.attribute.property)"
        let update = try context.connection.prepare(value.update)
        try context.walk("derived:\(name)", table: value.table, phase: .indexes, subject: name) { range in
            try update.bind(range)
            try update.run()
        }
    }
}
