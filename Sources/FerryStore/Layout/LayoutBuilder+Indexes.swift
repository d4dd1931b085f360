internal import FerryBase
internal import FerryModel

extension LayoutBuilder {
    /// Adds all indexes in Core Data's order.
    mutating func addIndexes() {
        let keys = layout.keyColumns
        for root in order.numbered where model.root(of: root) == root {
            guard let table = layout.tables[root] else { continue }
            let family = family(of: root)
            for column in table.columns where keys[table.name]?.contains(column.name) == true {
                add("\(table.name)_\(column.name)_INDEX", on: table.name, [column.name])
            }
            if family.count > 1 { add("\(table.name)_Z_ENT_INDEX", on: table.name, ["Z_ENT"]) }
            layout.indexes += joinIndexes[root] ?? []
            var made: Set<String> = []
            for entity in family { addFetchIndexes(of: entity, on: table, made: &made) }
            for entity in family { addUniquenessIndexes(of: entity, on: table) }
        }
    }

    private mutating func addUniquenessIndexes(of entity: String, on table: EntityTable) {
        let inherited = model.lineage(of: entity).dropFirst().flatMap(\.uniquenessConstraints)
        for constraint in model.entities[entity]?.uniquenessConstraints ?? [] where !inherited.contains(constraint) {
            let columns = constraint.compactMap { self.column(of: $0, in: entity) }
            guard columns.count == constraint.count else {
                refuse(
                    entity, nil, "a uniqueness constraint names a property that is not stored",
                    remedy: "Correct the constraint in the model.")
                continue
            }
            let name = "Z_\(entity)_UNIQUE_\(constraint.joined(separator: "_"))"
            add(name, on: table.name, columns, columns.map { "\($0) COLLATE BINARY ASC" }, unique: true)
        }
    }

    // MARK: Fetch indexes

    /// Returns indexed attributes and compound indexes in the form of newer compilers, then the fetch indexes.
    private func fetchIndexes(of entity: String) -> [FetchIndex] {
        let plain = plainIndexes(of: entity).map { properties in
            FetchIndex(
                name: properties.joined(separator: "_"),
                elements: properties.map { FetchIndex.Element(property: $0) })
        }
        return plain + (model.entities[entity]?.fetchIndexes ?? [])
    }

    /// Returns the properties of each indexed attribute, which subentities index too, and of each compound index.
    ///
    /// Archived models repeat fetch indexes in these old forms, so the result omits lists with a fetch index.
    private func plainIndexes(of entity: String) -> [[String]] {
        var lists: [[String]] = []
        for ancestor in model.lineage(of: entity) {
            let explicit = Set(ancestor.fetchIndexes.map { $0.elements.map(\.property) })
            let own = Set((model.entities[entity]?.fetchIndexes ?? []).map { $0.elements.map(\.property) })
            let attributes = attributes(of: ancestor.name).filter(\.isIndexed).map { [$0.name] }
            let compounds = ancestor.name == entity ? ancestor.compoundIndexes : []
            lists += (attributes + compounds).filter { !explicit.contains($0) && !own.contains($0) }
        }
        return lists
    }

    private mutating func addFetchIndexes(of entity: String, on table: EntityTable, made: inout Set<String>) {
        for index in fetchIndexes(of: entity) where !isServedByForeignKeyIndex(index, of: entity) {
            let name = "Z_\(entity)_\(index.name)"
            guard made.insert(name.uppercased()).inserted else { continue }
            if index.elements.contains(where: { $0.kind == .rtree }) { continue }
            let columns = index.elements.compactMap { column(of: $0, in: entity) }
            guard !columns.isEmpty, columns.count == index.elements.count else {
                leaveOut(index, of: entity, "it has an element that is not a stored property")
                continue
            }
            var condition: String?
            if let predicate = index.partialIndexPredicate, !predicate.isEmpty {
                guard let sql = IndexPredicate.sql(predicate, column: { self.column(of: $0, in: entity) }) else {
                    leaveOut(index, of: entity, "the SQL of its predicate is not known")
                    continue
                }
                condition = sql
            }
            let elements = zip(columns, index.elements).map { column, element in
                "\(column) COLLATE BINARY \(element.isAscending ? "ASC" : "DESC")"
            }
            add(name, on: table.name, columns, elements, where: condition)
        }
    }

    /// Leaves out an index whose form no rule tells: it holds no data, and Core Data fetches without it.
    private mutating func leaveOut(_ index: FetchIndex, of entity: String, _ reason: String) {
        // A known store of the version shows its form, or that it has none.
        guard model.knownSchema == nil else { return }
        layout.leftOutIndexes.append(
            LeftOutIndex(
                entity: entity, name: index.name,
                properties: index.elements.compactMap { $0.property ?? $0.expression }, reason: reason))
    }

    /// Whether an index has only a to-one relationship: Core Data omits it, because the foreign key has an index.
    private func isServedByForeignKeyIndex(_ index: FetchIndex, of entity: String) -> Bool {
        guard index.elements.count == 1, let property = index.elements[0].property else { return false }
        return model.relationship(property, of: entity) != nil
    }

    private func column(of element: FetchIndex.Element, in entity: String) -> String? {
        if let property = element.property { return column(of: property, in: entity) }
        switch element.expression {
        case "self", "SELF": return "Z_PK"
        case "entity": return "Z_ENT"
        case let expression?: return column(of: expression, in: entity)
        case nil: return nil
        }
    }

    private func column(of property: String, in entity: String) -> String? {
        if let column = layout.column(of: property, in: entity) { return column.name }
        guard case .foreignKey(_, let column, _, _)? = layout.storage(of: property, in: entity) else { return nil }
        return column
    }

    private mutating func add(
        _ name: String, on table: String, _ columns: [String], _ elements: [String]? = nil, unique: Bool = false,
        where condition: String? = nil
    ) {
        let sql =
            "CREATE \(unique ? "UNIQUE " : "")INDEX \(name) ON \(table) "
            + "(\((elements ?? columns).joined(separator: ", ")))\(condition.map { " WHERE \($0)" } ?? "")"
        layout.indexes.append(IndexDefinition(name: name, table: table, sql: sql, columns: columns))
    }
}
