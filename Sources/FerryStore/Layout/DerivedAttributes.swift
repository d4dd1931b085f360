internal import FerryBase
internal import FerryModel

/// The reason why a property has no layout, as a part of a sentence.
struct LayoutObstacle: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The values and the triggers of a layout's derived attributes.
///
/// The triggers of a count over a one-to-many relationship are known from real stores; `docs/store-format.md` says what
/// is known of the others. Ferry writes the others in the same form under Core Data's names, so that the values stay
/// right. A trigger that calls a function with an unknown name can only be copied from a store.
struct DerivedAttributes {
    private(set) var values: [DerivedValue] = []
    private(set) var triggers: [TriggerDefinition] = []
    private(set) var refusals: [(attribute: PropertyKey, reason: String)] = []
    static let remedy: Remedy = "Make it an ordinary attribute for the migration."
    private let layout: StoreLayout
    private var model: ManagedObjectModel { layout.model }

    /// `attributes` have their declaring entities, in the order of entity numbers; the layout is computed or a store's.
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
            // A subentity shares its table with objects without the attribute.
            entityNumbers: model.entities[entity]?.superentity == nil ? nil : numbers)
        do throws(LayoutObstacle) {
            guard let derivation = attribute.derivation else {
                throw LayoutObstacle("its derivation is not in a form that Core Data documents")
            }
            var value = DerivedValue(
                attribute: key, table: table, column: column.name, entityNumbers: numbers,
                derivation: derivation, expression: "", reads: [])
            switch derivation {
            case .now:
                triggers += names.timeOfSaving()
                return
            case .function(let function, _):
                // The trigger would call this function, and a name that Core Data does not register fails every save.
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
        // An attribute of the same object, or a leaf of its composite.
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
        else { throw LayoutObstacle("its derivation does not name a stored property") }
        guard let found = layout.column(of: path.dropFirst().joined(separator: "."), in: destination) else {
            throw LayoutObstacle(
                path.count > 2
                    ? "how Core Data follows a path over several relationships is not known"
                    : "its derivation does not name a stored property")
        }
        try checkType(of: found, fits: column)
        value.expression = "(SELECT s.\(found.name) FROM \(target) AS s WHERE s.Z_PK = t.\(key))"
        value.reads = [.init(table: value.table, column: key), .init(table: target, column: found.name)]
        return names.followed(by: key, to: found.name, of: target)
    }

    /// A column of another type would store another value.
    private func checkType(of source: Column, fits column: Column) throws(LayoutObstacle) {
        guard source.type == column.type else {
            throw LayoutObstacle("its type differs from the attribute that it is derived from")
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
        else { throw LayoutObstacle("it sums an attribute that is not a stored number") }
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

    /// The storage of a to-many relationship's keys.
    private struct Many {
        var table: String
        var key: String
        /// In a join table, the column with the keys of the destination.
        var other: String?
        var destination: String
    }

    private func many(_ name: String, of entity: String) throws(LayoutObstacle) -> Many {
        guard let relationship = model.relationship(name, of: entity), relationship.isToMany else {
            throw LayoutObstacle("its derivation does not name a to-many relationship")
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
        case .foreignKey, nil: throw LayoutObstacle("its derivation does not name a stored relationship")
        }
    }
}

extension LayoutBuilder {
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
/// Each trigger writes the value, and then reports the changed object by a function that only Core Data has.
struct DerivedTriggers {
    let attribute: PropertyKey
    let table: String
    let column: String
    /// The entities with the attribute; nil if all entities of the table have it.
    let entityNumbers: [Int64]?

    private static let updated = "NSCoreDataDATriggerUpdatedAffectedObjectValue"
    private static let inserted = "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue"

    /// Returns a trigger on an event of the table `place`, such as `UPDATE OF ZNAME`, for rows where the column
    /// `condition` is not NULL: it sets the value `change` in the rows that fulfil `rows`.
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

    /// For a copy of another attribute.
    func copied(from source: String) -> [TriggerDefinition] {
        [sourceInsert(source), sourceUpdate(of: source, source)]
    }

    /// For an attribute of a to-one relationship's destination.
    func followed(by key: String, to source: String, of target: String) -> [TriggerDefinition] {
        let value = "(SELECT \(source) FROM \(target) WHERE Z_PK = NEW.\(key))"
        let rows = "\(key) = NEW.Z_PK"
        return [
            sourceInsert(value), sourceUpdate(of: key, value),
            trigger("PARAMETER_INSERT", on: target, "INSERT", "NEW.\(source)", rows: rows),
            trigger("PARAMETER_UPDATE", on: target, "UPDATE OF \(source)", "NEW.\(source)", rows: rows),
        ]
    }

    /// Triggers for `now()`: Core Data raises `Z_OPT` with every save of an object.
    func timeOfSaving() -> [TriggerDefinition] {
        [
            trigger("INSERT", on: table, "INSERT", "NSCoreDataNow()", isInsert: true),
            trigger("UPDATE", on: table, "UPDATE OF Z_OPT", "NSCoreDataNow()"),
        ]
    }

    // MARK: Many values

    /// Four triggers on the destination of a to-many relationship, which update the row with the new or the old key.
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

    /// Triggers for a count of rows with the object's key: four on the counted objects, one on the counting objects.
    func counted(_ counted: String, key: String) -> [TriggerDefinition] {
        many(
            counted, key: key, updates: "UPDATE OF \(key)", inserted: "IFNULL(\(column), 0) + 1",
            incremented: "\(column) + 1", decremented: "\(column) - 1")
            + [sourceInsert("(SELECT IFNULL(COUNT(\(key)), 0) FROM \(counted) WHERE \(key) = NEW.Z_PK)")]
    }

    /// Triggers for a sum over rows with the object's key; `value` is SQL that ends before the key.
    func summed(_ summed: String, key: String, column source: String, value: String) -> [TriggerDefinition] {
        many(
            summed, key: key, updates: "UPDATE OF \(key), \(source)", inserted: "\(value)NEW.\(key))",
            incremented: "\(value)NEW.\(key))", decremented: "\(value)OLD.\(key))")
            + [sourceInsert("\(value)NEW.Z_PK)")]
    }

    /// Triggers on a join table, which compute the value anew: a rewritten link does not show that it existed before.
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

    /// Triggers on the summed objects of a many-to-many relationship.
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
