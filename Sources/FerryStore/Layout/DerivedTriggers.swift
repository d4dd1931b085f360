/// The triggers that keep one derived attribute up to date.
///
/// Each writes the value and then tells Core Data, by a function that only Core Data has, which object has changed.
struct DerivedTriggers {
    let attribute: PropertyKey
    let table: String
    let column: String
    /// The entities that have the attribute, where their table holds others too.
    let entityNumbers: [Int64]?

    private static let updated = "NSCoreDataDATriggerUpdatedAffectedObjectValue"
    private static let inserted = "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue"

    private func trigger(
        _ role: String, on place: String, _ event: String, _ change: String, rows: String, isInsert: Bool = false
    ) -> TriggerDefinition {
        let name = "Z_DA_\(place)_\(attribute.entity)_\(attribute.property)_\(role)"
        let family = entityNumbers.map { " AND \($0.rowCondition())" } ?? ""
        let call = isInsert ? Self.inserted : Self.updated
        return TriggerDefinition(
            name: name, table: place,
            sql: "CREATE TRIGGER \(name) AFTER \(event) BEGIN UPDATE \(table) SET \(column) = \(change) "
                + "WHERE \(rows)\(family); SELECT \(call)('\(table)', Z_ENT, Z_PK, '\(attribute.property)', \(column)) "
                + "FROM \(table) WHERE \(rows)\(family); END")
    }

    private func sourceInsert(_ change: String) -> TriggerDefinition {
        trigger(
            "SOURCE_INSERT", on: table, "INSERT ON \(table) FOR EACH ROW", change, rows: "Z_PK = NEW.Z_PK",
            isInsert: true)
    }

    private func sourceUpdate(of key: String, _ change: String) -> TriggerDefinition {
        trigger(
            "SOURCE_UPDATE", on: table, "UPDATE OF \(key) ON \(table) FOR EACH ROW", change, rows: "Z_PK = NEW.Z_PK")
    }

    // MARK: One value

    /// Another attribute of the object itself.
    func copied(from source: String) -> [TriggerDefinition] {
        [sourceInsert(source), sourceUpdate(of: source, source)]
    }

    /// An attribute of the object at the end of a to-one relationship.
    func followed(by key: String, to source: String, of target: String) -> [TriggerDefinition] {
        let value = "(SELECT \(source) FROM \(target) WHERE Z_PK = NEW.\(key))"
        return [
            sourceInsert(value), sourceUpdate(of: key, value),
            trigger(
                "PARAMETER_INSERT", on: target, "INSERT ON \(target) FOR EACH ROW", "NEW.\(source)",
                rows: "\(key) = NEW.Z_PK"),
            trigger(
                "PARAMETER_UPDATE", on: target, "UPDATE OF \(source) ON \(target) FOR EACH ROW", "NEW.\(source)",
                rows: "\(key) = NEW.Z_PK"),
        ]
    }

    /// `now()`: Core Data raises `Z_OPT` with every save of an object.
    func timeOfSaving() -> [TriggerDefinition] {
        [
            trigger(
                "INSERT", on: table, "INSERT ON \(table) FOR EACH ROW", "NSCoreDataNow()", rows: "Z_PK = NEW.Z_PK",
                isInsert: true),
            trigger(
                "UPDATE", on: table, "UPDATE OF Z_OPT ON \(table) FOR EACH ROW", "NSCoreDataNow()",
                rows: "Z_PK = NEW.Z_PK"),
        ]
    }

    // MARK: Many values

    /// How many rows of a table have the object's key: four triggers on the counted objects, one on those that count.
    func counted(_ counted: String, key: String) -> [TriggerDefinition] {
        let (new, old) = ("WHEN (NEW.\(key) NOT NULL)", "WHEN (OLD.\(key) NOT NULL)")
        return [
            trigger(
                "PARAMETER_INSERT", on: counted, "INSERT ON \(counted) FOR EACH ROW \(new)",
                "IFNULL(\(column), 0) + 1", rows: "Z_PK = NEW.\(key)"),
            trigger(
                "PARAMETER_UPDATE_INCREMENT", on: counted, "UPDATE OF \(key) ON \(counted) FOR EACH ROW \(new)",
                "\(column) + 1", rows: "Z_PK = NEW.\(key)"),
            trigger(
                "PARAMETER_UPDATE_DECREMENT", on: counted, "UPDATE OF \(key) ON \(counted) FOR EACH ROW \(old)",
                "\(column) - 1", rows: "Z_PK = OLD.\(key)"),
            trigger(
                "PARAMETER_DELETE", on: counted, "DELETE ON \(counted) FOR EACH ROW \(old)", "\(column) - 1",
                rows: "Z_PK = OLD.\(key)"),
            sourceInsert("(SELECT IFNULL(COUNT(\(key)), 0) FROM \(counted) WHERE \(key) = NEW.Z_PK)"),
        ]
    }

    /// The sum over the rows of a table that have the object's key; `value` ends where the key is to follow.
    func summed(_ summed: String, key: String, column source: String, value: String) -> [TriggerDefinition] {
        let (new, old) = ("WHEN (NEW.\(key) NOT NULL)", "WHEN (OLD.\(key) NOT NULL)")
        return [
            trigger(
                "PARAMETER_INSERT", on: summed, "INSERT ON \(summed) FOR EACH ROW \(new)", "\(value)NEW.\(key))",
                rows: "Z_PK = NEW.\(key)"),
            trigger(
                "PARAMETER_UPDATE_INCREMENT", on: summed,
                "UPDATE OF \(key), \(source) ON \(summed) FOR EACH ROW \(new)", "\(value)NEW.\(key))",
                rows: "Z_PK = NEW.\(key)"),
            trigger(
                "PARAMETER_UPDATE_DECREMENT", on: summed, "UPDATE OF \(key) ON \(summed) FOR EACH ROW \(old)",
                "\(value)OLD.\(key))", rows: "Z_PK = OLD.\(key)"),
            trigger(
                "PARAMETER_DELETE", on: summed, "DELETE ON \(summed) FOR EACH ROW \(old)", "\(value)OLD.\(key))",
                rows: "Z_PK = OLD.\(key)"),
            sourceInsert("\(value)NEW.Z_PK)"),
        ]
    }

    /// What follows from the links of a join table; computed anew each time, since a link that is written once more
    /// does not tell that it was there before.
    func linked(_ join: String, key: String, value: String) -> [TriggerDefinition] {
        [
            trigger(
                "PARAMETER_INSERT", on: join, "INSERT ON \(join) FOR EACH ROW", "\(value)NEW.\(key))",
                rows: "Z_PK = NEW.\(key)"),
            trigger(
                "PARAMETER_UPDATE", on: join, "UPDATE OF \(key) ON \(join) FOR EACH ROW", "\(value)\(table).Z_PK)",
                rows: "Z_PK IN (OLD.\(key), NEW.\(key))"),
            trigger(
                "PARAMETER_DELETE", on: join, "DELETE ON \(join) FOR EACH ROW", "\(value)OLD.\(key))",
                rows: "Z_PK = OLD.\(key)"),
            sourceInsert("\(value)NEW.Z_PK)"),
        ]
    }

    /// The objects at the other end of a join table change what is summed.
    func summedOverLinks(
        _ join: String, key: String, other: String, _ objects: String, column source: String, value: String
    ) -> [TriggerDefinition] {
        let rows = "Z_PK IN (SELECT \(key) FROM \(join) WHERE \(other) = NEW.Z_PK)"
        return [
            trigger(
                "PARAMETER_INSERT", on: objects, "INSERT ON \(objects) FOR EACH ROW", "\(value)\(table).Z_PK)",
                rows: rows),
            trigger(
                "PARAMETER_UPDATE", on: objects, "UPDATE OF \(source) ON \(objects) FOR EACH ROW",
                "\(value)\(table).Z_PK)", rows: rows),
        ]
    }
}
