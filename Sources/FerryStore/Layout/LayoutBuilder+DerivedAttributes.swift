internal import FerryModel

extension LayoutBuilder {
    /// Triggers and values of derived attributes.
    ///
    /// Known from real stores are those of a count of a one-to-many relationship between two root entities. How others
    /// are spelled is not known, and a store with other triggers than Core Data's own would not be kept up to date.
    mutating func addDerivedAttributes() {
        for entity in order.numbered {
            for attribute in attributes(of: entity) where attribute.isDerived {
                guard let value = count(attribute, of: entity) else {
                    refuse(
                        entity, attribute.name,
                        "how Core Data spells the triggers of this derived attribute is not known",
                        remedy: "Make it an ordinary attribute for the migration.")
                    continue
                }
                layout.derivedValues.append(value)
                layout.triggers += triggers(of: value)
            }
        }
    }

    private func count(_ attribute: Attribute, of entity: String) -> DerivedValue? {
        let suffix = ".@count"
        guard let text = attribute.derivationExpression, text.hasSuffix(suffix), model.root(of: entity) == entity,
            let table = layout.tables[entity]?.name,
            let column = layout.attributeColumns[PropertyKey(entity, attribute.name)]
        else { return nil }
        let name = String(text.dropLast(suffix.count))
        guard let relationship = relationships(of: entity).first(where: { $0.name == name }),
            let inverse = inverse(of: relationship), model.root(of: inverse.key.entity) == inverse.key.entity,
            inverse.relationship.destinationEntity == entity,
            case .inverseForeignKey(let countedTable, let countedColumn, _, _)? = layout.relationshipStorage[
                PropertyKey(entity, name)]
        else { return nil }
        return DerivedValue(
            attribute: PropertyKey(entity, attribute.name), table: table, column: column.name,
            entityNumbers: family(of: entity).compactMap { numbers[$0] }, countedTable: countedTable,
            countedColumn: countedColumn)
    }

    /// The five triggers of a count: four on the counted objects, one on those that count.
    private func triggers(of value: DerivedValue) -> [TriggerDefinition] {
        let (table, column) = (value.table, value.column)
        let (counted, key) = (value.countedTable, value.countedColumn)
        let attribute = value.attribute.property
        func trigger(_ role: String, on place: String, _ event: String, _ change: String, row: String, _ call: String)
            -> TriggerDefinition
        {
            let name = "Z_DA_\(place)_\(value.attribute.entity)_\(attribute)_\(role)"
            let announced = "SELECT \(call)('\(table)', Z_ENT, Z_PK, '\(attribute)', \(column)) FROM \(table)"
            return TriggerDefinition(
                name: name, table: place,
                sql: "CREATE TRIGGER \(name) AFTER \(event) BEGIN UPDATE \(table) SET \(column) = \(change) "
                    + "WHERE Z_PK = \(row); \(announced) WHERE Z_PK = \(row); END")
        }
        let updated = "NSCoreDataDATriggerUpdatedAffectedObjectValue"
        let inserted = "NSCoreDataDATriggerInsertUpdatedAffectedObjectValue"
        let (new, old) = ("WHEN (NEW.\(key) NOT NULL)", "WHEN (OLD.\(key) NOT NULL)")
        return [
            trigger(
                "PARAMETER_INSERT", on: counted, "INSERT ON \(counted) FOR EACH ROW \(new)",
                "IFNULL(\(column), 0) + 1", row: "NEW.\(key)", updated),
            trigger(
                "PARAMETER_UPDATE_INCREMENT", on: counted, "UPDATE OF \(key) ON \(counted) FOR EACH ROW \(new)",
                "\(column) + 1", row: "NEW.\(key)", updated),
            trigger(
                "PARAMETER_UPDATE_DECREMENT", on: counted, "UPDATE OF \(key) ON \(counted) FOR EACH ROW \(old)",
                "\(column) - 1", row: "OLD.\(key)", updated),
            trigger(
                "PARAMETER_DELETE", on: counted, "DELETE ON \(counted) FOR EACH ROW \(old)", "\(column) - 1",
                row: "OLD.\(key)", updated),
            trigger(
                "SOURCE_INSERT", on: table, "INSERT ON \(table) FOR EACH ROW",
                "(SELECT IFNULL(COUNT(\(key)), 0) FROM \(counted) WHERE \(key) = NEW.Z_PK)", row: "NEW.Z_PK",
                inserted),
        ]
    }
}
