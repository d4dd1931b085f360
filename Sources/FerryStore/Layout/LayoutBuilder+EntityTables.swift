internal import FerryBase
internal import FerryModel

extension LayoutBuilder {
    mutating func addEntityTables() {
        for root in order.numbered where model.root(of: root) == root {
            addEntityTable(root)
        }
    }

    /// `SQLITE_MAX_COLUMN`; every build of SQLite that we know, Apple's too, has the default.
    private static let columnLimit = 2_000

    private mutating func addEntityTable(_ root: String) {
        let table = columnName(root)
        let family = family(of: root)
        var names = ColumnNames()
        var columns: [ColumnGroup: [Column]] = [:]
        for entity in family {
            addAttributes(of: entity, names: &names, columns: &columns)
            addToOnes(of: entity, table: table, names: &names, columns: &columns)
            addInverselessEnds(in: entity, table: table, columns: &columns)
        }
        let all = ColumnGroup.allCases.flatMap { columns[$0] ?? [] }
        layout.tables[root] = EntityTable(root: root, name: table, columns: all)
        let count = EntityTable.systemColumns.count + all.count
        if count > Self.columnLimit {
            refuse(
                root, nil, "its table would have \(count) columns, and SQLite allows \(Self.columnLimit)",
                remedy: "Move attributes of it or of its subentities to another entity, and relate the two.")
        }
    }

    private mutating func addAttributes(
        of entity: String, names: inout ColumnNames, columns: inout [ColumnGroup: [Column]]
    ) {
        for attribute in attributes(of: entity) {
            let leaves = model.leaves(of: attribute)
            if leaves.isEmpty {
                refuse(
                    entity, attribute.name, "its composite has no stored elements",
                    remedy: "Make it transient, or give the composite an element that is stored.")
            }
            for leaf in leaves {
                guard let (type, group) = leaf.type.columnTypeAndGroup else {
                    refuse(
                        entity, leaf.name, "attributes of this type have no column",
                        remedy: "Make it transient or give it a type that is stored.")
                    continue
                }
                // A column's name does not contain the names of the composites.
                let own = leaf.name.split(separator: ".").last.map(String.init) ?? leaf.name
                let (name, clash) = names.add(columnName(own), .attribute, of: PropertyKey(entity, leaf.name))
                refuse(clash, entity: entity, property: leaf.name)
                let column = Column(name: name, type: type)
                columns[group, default: []].append(column)
                layout.attributeColumns[PropertyKey(entity, leaf.name)] = column
            }
        }
    }

    private mutating func addToOnes(
        of entity: String, table: String, names: inout ColumnNames, columns: inout [ColumnGroup: [Column]]
    ) {
        var orders: [(owner: PropertyKey, column: Column)] = []
        for relationship in relationships(of: entity) where !relationship.isToMany {
            let destination = relationship.destinationEntity
            let (column, clash) = names.add(
                columnName(relationship.name), .toOne, of: PropertyKey(entity, relationship.name))
            refuse(clash, entity: entity, property: relationship.name)
            columns[.integers, default: []].append(Column(name: column, type: "INTEGER"))
            var entityColumn: String?
            if !model.subentities(of: destination).isEmpty, let number = numbers[destination] {
                let name = "Z\(number)_\(column.dropFirst())"
                entityColumn = name
                columns[.integers, default: []].append(Column(name: name, type: "INTEGER"))
            }
            var orderColumn: String?
            if let inverse = inverse(of: relationship), inverse.relationship.isToMany, inverse.relationship.isOrdered {
                let name = "Z_FOK_\(column.dropFirst())"
                orderColumn = name
                orders.append((inverse.key, Column(name: name, type: "INTEGER")))
            }
            if let clash, entityColumn != nil || orderColumn != nil {
                refuseCollision(entity, relationship.name, clash)
            }
            layout.relationshipStorage[PropertyKey(entity, relationship.name)] = .foreignKey(
                table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
        }
        // By the ordered relationship of the column: by its entity, then by its name in descending order.
        orders.sort { left, right in
            let places = [left, right].map { order.setUpPosition[$0.owner.entity] ?? 0 }
            return places[0] == places[1]
                ? codeUnitOrder(right.owner.property, left.owner.property) : places[0] < places[1]
        }
        columns[.orderKeys, default: []] += orders.map(\.column)
    }

    /// Adds columns for to-many relationships without inverse to `entity`.
    private mutating func addInverselessEnds(
        in entity: String, table: String, columns: inout [ColumnGroup: [Column]]
    ) {
        var ends: [(key: PropertyKey, column: String)] = []
        for (source, relationship) in inverseless[entity] ?? [] {
            let key = PropertyKey(source, relationship.name)
            ends.append((key, "Z\(numbers[source] ?? 0)\(relationship.name.uppercased())"))
            if relationship.isOrdered {
                refuse(
                    source, relationship.name,
                    "where the order of a relationship without inverse is kept is not known",
                    remedy: "Give it an inverse.")
            }
        }
        for end in ends.inOrder(by: { codeUnitOrder($0.key.property, $1.key.property) }) {
            columns[.integers, default: []].append(Column(name: end.column, type: "INTEGER"))
            layout.relationshipStorage[end.key] = .inverseless(table: table, column: end.column)
        }
    }

    private mutating func refuse(_ clash: ColumnNames.Clash?, entity: String, property: String) {
        if let clash, clash.isOfOtherKind { refuseCollision(entity, property, clash) }
    }

    private mutating func refuseCollision(_ entity: String, _ property: String, _ clash: ColumnNames.Clash) {
        let other = clash.other.map { "that of \($0.entity).\($0.property)" } ?? "one of Core Data's own"
        refuse(
            entity, property,
            "its column \(clash.name) is also \(other), and how Core Data tells these two apart is not known",
            remedy: clash.other == nil
                ? "Rename it in the model, keeping the old name as renaming identifier."
                : "Rename one of them in the model, keeping the old name as renaming identifier.")
    }
}

/// The used column names of one table; a used name gets the next free number as a suffix.
private struct ColumnNames {
    enum Kind { case attribute, toOne, system }

    struct Clash {
        var name: String
        /// The property that had the name first; nil for a column of Core Data's own.
        var other: PropertyKey?
        /// Whether an attribute meets a to-one relationship, or either meets one of Core Data's own columns.
        var isOfOtherKind: Bool
    }

    private var uses: [String: (kind: Kind, property: PropertyKey?)] = [
        "Z_PK": (.system, nil), "Z_ENT": (.system, nil), "Z_OPT": (.system, nil),
    ]

    mutating func add(_ name: String, _ kind: Kind, of property: PropertyKey) -> (name: String, clash: Clash?) {
        guard let other = uses[name] else {
            uses[name] = (kind, property)
            return (name, nil)
        }
        var suffix = 1
        while uses["\(name)\(suffix)"] != nil { suffix += 1 }
        uses["\(name)\(suffix)"] = (kind, property)
        return (
            "\(name)\(suffix)", Clash(name: name, other: other.property, isOfOtherKind: other.kind != kind)
        )
    }
}

/// The groups of a new entity table's columns, in their order.
enum ColumnGroup: Int, CaseIterable {
    /// Per entity: integers and Booleans, to-one relationships, and to-many relationships without inverse to it.
    case integers
    /// `Z_FOK_…`
    case orderKeys
    case reals
    case decimals
    case strings
    case uris
    case uuids
    case transformables
    case binaries
}

extension AttributeType {
    /// The declared type and the group of an attribute's column, or nil for types without a column.
    var columnTypeAndGroup: (type: String, group: ColumnGroup)? {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: ("INTEGER", .integers)
        case .double, .float: ("FLOAT", .reals)
        case .date: ("TIMESTAMP", .reals)
        case .decimal: ("DECIMAL", .decimals)
        case .string: ("VARCHAR", .strings)
        case .uri: ("VARCHAR", .uris)
        case .uuid: ("BLOB", .uuids)
        case .transformable: ("BLOB", .transformables)
        case .binary: ("BLOB", .binaries)
        case .undefined, .objectID, .composite: nil
        }
    }
}
