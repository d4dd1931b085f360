internal import FerryBase
internal import FerryModel

/// Why something cannot be laid out, as a part of a sentence.
struct LayoutObstacle: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The values and the triggers of a layout's derived attributes.
///
/// Real stores show the triggers of a count of a one-to-many relationship; `docs/store-format.md` says what is known of
/// the others. Theirs are written in the same manner under the names that Core Data gives them, so that the values stay
/// right; where a trigger would have to call a function whose name is not known, it can only be found in a store.
struct DerivedAttributes {
    private(set) var values: [DerivedValue] = []
    private(set) var triggers: [TriggerDefinition] = []
    private(set) var refusals: [(attribute: PropertyKey, reason: String)] = []
    static let remedy: Remedy = "Make it an ordinary attribute for the migration."
    private let layout: StoreLayout
    private var model: ManagedObjectModel { layout.model }

    /// Attributes of a layout, computed or read from a store, by the entities that declare them, in the order of their
    /// numbers.
    init(of layout: StoreLayout, attributes: [(entity: String, attribute: Attribute)]) {
        self.layout = layout
        for (entity, attribute) in attributes { add(attribute, of: entity) }
    }

    private mutating func add(_ attribute: Attribute, of entity: String) {
        let key = PropertyKey(entity, attribute.name)
        guard let table = layout.table(of: entity)?.name, let column = layout.attributeColumns[key] else { return }
        let numbers = layout.numbers(ofFamily: entity)
        let names = DerivedTriggers(
            attribute: key, table: table, column: column.name,
            // A subentity shares its table with objects that do not have the attribute.
            entityNumbers: model.entities[entity]?.superentity == nil ? nil : numbers)
        do throws(LayoutObstacle) {
            guard let derivation = attribute.derivation else {
                throw LayoutObstacle("its derivation is in no form that Core Data documents")
            }
            var value = DerivedValue(
                attribute: key, table: table, column: column.name, entityNumbers: numbers,
                derivation: derivation, expression: "", reads: [])
            switch derivation {
            case .now:
                triggers += names.timeOfSaving()
                return
            case .function(let function, _):
                // The trigger would have to call it, and a name that Core Data does not register fails every save.
                throw LayoutObstacle("how SQLite calls Core Data's function \(function) is not publicly known")
            case .value(let path): triggers += try addValue(at: path, of: entity, column, names, to: &value)
            case .count(let relationship): triggers += try addCount(of: relationship, entity, names, to: &value)
            case .sum(let relationship, let summed):
                triggers += try addSum(of: summed, over: relationship, entity, names, to: &value)
            }
            values.append(value)
        } catch {
            refusals.append((key, error.reason))
        }
    }

    // MARK: One value

    private func addValue(
        at path: [String], of entity: String, _ column: Column, _ names: DerivedTriggers, to value: inout DerivedValue
    ) throws(LayoutObstacle) -> [TriggerDefinition] {
        // An attribute of the object itself, or a leaf of its composite.
        if let own = layout.column(of: path.joined(separator: "."), in: entity) {
            try checkType(of: own, fits: column)
            guard own != column else { throw LayoutObstacle("it is derived from itself") }
            value.expression = "t.\(own.name)"
            value.reads = [.init(table: value.table, column: own.name)]
            return names.copied(from: own.name)
        }
        guard case .foreignKey(_, let key, _, _)? = layout.storage(of: path[0], in: entity),
            let destination = model.relationship(path[0], of: entity)?.destinationEntity,
            let target = layout.table(of: destination)?.name
        else { throw LayoutObstacle("its derivation names no stored property") }
        guard let found = layout.column(of: path.dropFirst().joined(separator: "."), in: destination) else {
            throw LayoutObstacle(
                path.count > 2
                    ? "how Core Data follows a path over several relationships is not known"
                    : "its derivation names no stored property")
        }
        try checkType(of: found, fits: column)
        value.expression = "(SELECT s.\(found.name) FROM \(target) AS s WHERE s.Z_PK = t.\(key))"
        value.reads = [.init(table: value.table, column: key), .init(table: target, column: found.name)]
        return names.followed(by: key, to: found.name, of: target)
    }

    /// A column of another type would store the value otherwise.
    private func checkType(of source: Column, fits column: Column) throws(LayoutObstacle) {
        guard source.type == column.type else {
            throw LayoutObstacle("it has another type than what it is derived from")
        }
    }

    // MARK: Many values

    private func addCount(
        of relationship: String, _ entity: String, _ names: DerivedTriggers, to value: inout DerivedValue
    ) throws(LayoutObstacle) -> [TriggerDefinition] {
        let many = try self.many(relationship, of: entity)
        value.expression = "(SELECT count(*) FROM \(many.table) AS c WHERE c.\(many.key) = t.Z_PK)"
        value.reads = [.init(table: many.table, column: many.key)]
        return many.other == nil
            ? names.counted(many.table, key: many.key)
            : names.linked(
                many.table, key: many.key,
                value: "(SELECT IFNULL(COUNT(\(many.key)), 0) FROM \(many.table) WHERE \(many.key) = ")
    }

    private func addSum(
        of summed: String, over relationship: String, _ entity: String, _ names: DerivedTriggers,
        to value: inout DerivedValue
    ) throws(LayoutObstacle) -> [TriggerDefinition] {
        let many = try self.many(relationship, of: entity)
        guard let attribute = model.attribute(summed, of: many.destination), attribute.type.isNumeric,
            let column = layout.column(of: summed, in: many.destination)?.name,
            let objects = layout.table(of: many.destination)?.name
        else { throw LayoutObstacle("it sums what is no stored number") }
        guard let other = many.other else {
            let start = "(SELECT IFNULL(SUM(\(column)), 0) FROM \(many.table) WHERE \(many.key) = "
            value.expression =
                "(SELECT IFNULL(SUM(c.\(column)), 0) FROM \(many.table) AS c WHERE c.\(many.key) = t.Z_PK)"
            value.reads = [
                .init(table: many.table, column: many.key), .init(table: many.table, column: column),
            ]
            return names.summed(many.table, key: many.key, column: column, value: start)
        }
        let start =
            "(SELECT IFNULL(SUM(c.\(column)), 0) FROM \(many.table) AS j JOIN \(objects) AS c "
            + "ON c.Z_PK = j.\(other) WHERE j.\(many.key) = "
        value.expression = start + "t.Z_PK)"
        value.reads = [
            .init(table: many.table, column: many.key), .init(table: many.table, column: other),
            .init(table: objects, column: column),
        ]
        return names.linked(many.table, key: many.key, value: start)
            + names.summedOverLinks(many.table, key: many.key, other: other, objects, column: column, value: start)
    }

    /// Where the objects of a to-many relationship name the one that has them.
    private struct Many {
        var table: String
        var key: String
        /// In a join table, the column of the objects.
        var other: String?
        var destination: String
    }

    private func many(_ name: String, of entity: String) throws(LayoutObstacle) -> Many {
        guard let relationship = model.relationship(name, of: entity), relationship.isToMany else {
            throw LayoutObstacle("its derivation names no to-many relationship")
        }
        let destination = relationship.destinationEntity
        switch layout.storage(of: name, in: entity) {
        case .inverseForeignKey(let table, let column, _, _), .inverseless(let table, let column):
            return Many(table: table, key: column, destination: destination)
        case .join(let table, let own, let other, _, _):
            guard model.inverse(of: relationship) != relationship else {
                throw LayoutObstacle("links of a relationship that is its own inverse are stored in either direction")
            }
            return Many(table: table, key: own, other: other, destination: destination)
        case .foreignKey, nil: throw LayoutObstacle("its derivation names no stored relationship")
        }
    }
}

extension LayoutBuilder {
    /// Triggers and values of derived attributes.
    mutating func addDerivedAttributes() {
        let all = order.numbered.flatMap { entity in
            attributes(of: entity).filter(\.isDerived).map { (entity: entity, attribute: $0) }
        }
        let derived = DerivedAttributes(of: layout, attributes: all)
        layout.derivedValues = derived.values
        layout.triggers = derived.triggers
        for (key, reason) in derived.refusals {
            if let attribute = layout.attribute(key), model.isCarriedAsFound(attribute, of: key.entity) {
                foundOnly.append((key, reason))
            } else {
                refuse(key.entity, key.property, reason, remedy: DerivedAttributes.remedy)
            }
        }
    }
}

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

    /// A trigger on the changes of the table `place`, such as `UPDATE OF ZNAME`, of rows where the column `condition` is not
    /// NULL: it gives the value `change` to the rows that fulfil `rows`.
    private func trigger(
        _ role: String, on place: String, _ event: String, when condition: String? = nil, _ change: String,
        rows: String = "Z_PK = NEW.Z_PK", isInsert: Bool = false
    ) -> TriggerDefinition {
        let name = "Z_DA_\(place)_\(attribute.entity)_\(attribute.property)_\(role)"
        let family = entityNumbers.map { " AND \($0.rowCondition())" } ?? ""
        let call = isInsert ? Self.inserted : Self.updated
        let when = condition.map { " WHEN (\($0) NOT NULL)" } ?? ""
        return TriggerDefinition(
            name: name, table: place,
            sql: "CREATE TRIGGER \(name) AFTER \(event) ON \(place) FOR EACH ROW\(when) BEGIN UPDATE \(table) "
                + "SET \(column) = \(change) WHERE \(rows)\(family); "
                + "SELECT \(call)('\(table)', Z_ENT, Z_PK, '\(attribute.property)', \(column)) "
                + "FROM \(table) WHERE \(rows)\(family); END")
    }

    private func sourceInsert(_ change: String) -> TriggerDefinition {
        trigger("SOURCE_INSERT", on: table, "INSERT", change, isInsert: true)
    }

    private func sourceUpdate(of key: String, _ change: String) -> TriggerDefinition {
        trigger("SOURCE_UPDATE", on: table, "UPDATE OF \(key)", change)
    }

    // MARK: One value

    /// Another attribute of the object itself.
    func copied(from source: String) -> [TriggerDefinition] {
        [sourceInsert(source), sourceUpdate(of: source, source)]
    }

    /// An attribute of the object at the end of a to-one relationship.
    func followed(by key: String, to source: String, of target: String) -> [TriggerDefinition] {
        let value = "(SELECT \(source) FROM \(target) WHERE Z_PK = NEW.\(key))"
        let rows = "\(key) = NEW.Z_PK"
        return [
            sourceInsert(value), sourceUpdate(of: key, value),
            trigger("PARAMETER_INSERT", on: target, "INSERT", "NEW.\(source)", rows: rows),
            trigger("PARAMETER_UPDATE", on: target, "UPDATE OF \(source)", "NEW.\(source)", rows: rows),
        ]
    }

    /// `now()`: Core Data raises `Z_OPT` with every save of an object.
    func timeOfSaving() -> [TriggerDefinition] {
        [
            trigger("INSERT", on: table, "INSERT", "NSCoreDataNow()", isInsert: true),
            trigger("UPDATE", on: table, "UPDATE OF Z_OPT", "NSCoreDataNow()"),
        ]
    }

    // MARK: Many values

    /// Four triggers on the objects of a to-many relationship; the values are of the object that has the new or the old
    /// key.
    private func many(
        _ many: String, key: String, updates: String, inserted: String, incremented: String, decremented: String
    ) -> [TriggerDefinition] {
        let (new, old) = ("NEW.\(key)", "OLD.\(key)")
        let (newRow, oldRow) = ("Z_PK = \(new)", "Z_PK = \(old)")
        return [
            trigger("PARAMETER_INSERT", on: many, "INSERT", when: new, inserted, rows: newRow),
            trigger("PARAMETER_UPDATE_INCREMENT", on: many, updates, when: new, incremented, rows: newRow),
            trigger("PARAMETER_UPDATE_DECREMENT", on: many, "UPDATE OF \(key)", when: old, decremented, rows: oldRow),
            trigger("PARAMETER_DELETE", on: many, "DELETE", when: old, decremented, rows: oldRow),
        ]
    }

    /// How many rows of a table have the object's key: four triggers on the counted objects, one on those that count.
    func counted(_ counted: String, key: String) -> [TriggerDefinition] {
        many(
            counted, key: key, updates: "UPDATE OF \(key)", inserted: "IFNULL(\(column), 0) + 1",
            incremented: "\(column) + 1", decremented: "\(column) - 1")
            + [sourceInsert("(SELECT IFNULL(COUNT(\(key)), 0) FROM \(counted) WHERE \(key) = NEW.Z_PK)")]
    }

    /// The sum over the rows of a table that have the object's key; `value` ends where the key is to follow.
    func summed(_ summed: String, key: String, column source: String, value: String) -> [TriggerDefinition] {
        many(
            summed, key: key, updates: "UPDATE OF \(key), \(source)", inserted: "\(value)NEW.\(key))",
            incremented: "\(value)NEW.\(key))", decremented: "\(value)OLD.\(key))")
            + [sourceInsert("\(value)NEW.Z_PK)")]
    }

    /// What follows from the links of a join table; computed anew each time, since a link that is written once more
    /// does not tell that it was there before.
    func linked(_ join: String, key: String, value: String) -> [TriggerDefinition] {
        [
            trigger("PARAMETER_INSERT", on: join, "INSERT", "\(value)NEW.\(key))", rows: "Z_PK = NEW.\(key)"),
            trigger(
                "PARAMETER_UPDATE", on: join, "UPDATE OF \(key)", "\(value)\(table).Z_PK)",
                rows: "Z_PK IN (OLD.\(key), NEW.\(key))"),
            trigger("PARAMETER_DELETE", on: join, "DELETE", "\(value)OLD.\(key))", rows: "Z_PK = OLD.\(key)"),
            sourceInsert("\(value)NEW.Z_PK)"),
        ]
    }

    /// The objects at the other end of a join table change what is summed.
    func summedOverLinks(
        _ join: String, key: String, other: String, _ objects: String, column source: String, value: String
    ) -> [TriggerDefinition] {
        let rows = "Z_PK IN (SELECT \(key) FROM \(join) WHERE \(other) = NEW.Z_PK)"
        let change = "\(value)\(table).Z_PK)"
        return [
            trigger("PARAMETER_INSERT", on: objects, "INSERT", change, rows: rows),
            trigger("PARAMETER_UPDATE", on: objects, "UPDATE OF \(source)", change, rows: rows),
        ]
    }
}
