package import FerryModel

/// A join table of a new store whose name, or whose columns' names, do not follow from the model.
package struct OpenJoin: Sendable {
    /// As it stands with the names that the rules would give.
    package var table: JoinTable
    /// Whether either of the two relationships may name it.
    package var isSideOpen: Bool
    /// Whether the suffixes of its columns are open: another table of the entity has columns of the same name.
    package var areSuffixesOpen: Bool
    /// The names that the table may have, that of ``table`` first.
    package var names: [String]
}

extension StoreLayout {
    /// The join tables of a new store that are named by no known rule: between an entity and itself, and those with
    /// columns that several tables of one entity number.
    package static func openJoins(of model: ManagedObjectModel) -> [OpenJoin] {
        // What is known already is open no less: another source of knowledge may be asked.
        var model = model
        model.knownJoins = []
        let builder = LayoutBuilder(model)
        return builder.layout.joinTables.compactMap { table in
            guard table.relationship != table.inverse else { return nil }
            if table.relationship.entity == table.inverse.entity {
                let number = builder.numbers[table.inverse.entity] ?? 0
                return OpenJoin(
                    table: table, isSideOpen: true,
                    areSuffixesOpen: builder.ambiguousJoins.contains(table.relationship),
                    names: [table.name, "Z_\(number)\(table.inverse.property.uppercased())"])
            }
            guard builder.ambiguousJoins.contains(table.relationship) else { return nil }
            return OpenJoin(table: table, isSideOpen: false, areSuffixesOpen: true, names: [table.name])
        }
    }

    /// How an open join table stands in this layout, which is that of an existing store.
    ///
    /// - Parameters:
    ///   - open: The join table of another model.
    ///   - entity: What the entity that declares the relationship is called here.
    /// - Returns: Nil when there is no such table here, or its names do not tell.
    package func knownJoin(_ open: OpenJoin, in entity: String) -> KnownJoin? {
        let sides = [open.table.relationship.property, open.table.inverse.property]
        guard
            let found = joinTables.first(where: { table in
                let own = [table.relationship, table.inverse]
                return own.contains { $0.entity == entity && $0.property == sides[0] }
                    && own.contains { $0.property == sides[1] }
            })
        else { return nil }
        let naming =
            open.isSideOpen ? sides.filter { ColumnPattern("Z_#", $0.uppercased()).matches(found.name) } : [sides[0]]
        guard naming.count == 1 else { return nil }
        let isTurned = found.relationship.property != naming[0]
        let (first, second) =
            isTurned ? (found.secondColumn, found.firstColumn) : (found.firstColumn, found.secondColumn)
        let other = sides[0] == naming[0] ? sides[1] : sides[0]
        let key = sides[0] == naming[0] ? open.table.relationship : open.table.inverse
        guard let firstSuffix = Self.suffix(of: first, after: other),
            let secondSuffix = Self.suffix(of: second, after: naming[0])
        else { return nil }
        return KnownJoin(
            entity: key.entity, relationship: key.property, firstSuffix: firstSuffix, secondSuffix: secondSuffix)
    }

    /// What stands after `Z_<number><PROPERTY>`.
    private static func suffix(of column: String, after property: String) -> String? {
        let rest = column.dropFirst(2).drop { $0.isNumber }
        guard column.hasPrefix("Z_"), rest.uppercased().hasPrefix(property.uppercased()) else { return nil }
        let suffix = rest.dropFirst(property.count)
        return suffix.allSatisfy(\.isNumber) ? String(suffix) : nil
    }
}
