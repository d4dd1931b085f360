package import FerryBase
package import FerryMapping
internal import FerryModel
package import FerryStore

extension StepSQL {
    /// The statements of an operation, in their order; none for what only a store or a policy can tell.
    ///
    /// - Parameters:
    ///   - operation: An operation of ``program``.
    ///   - policies: The effects of the policies, which have run.
    /// - Returns: The statements.
    /// - Throws: ``FerryError`` for an expression or a rule that cannot be a statement.
    package func statements(
        of operation: StepOperation, policies: PolicyEvidence = PolicyEvidence()
    ) throws(FerryError) -> [ProgramStatement] {
        let relationships = program.fills.relationships
        switch operation.work {
        case .statements(let statements): return statements.filter { !isWithJoinTable($0) }
        case .rows(let positions):
            var statements: [ProgramStatement] = []
            for position in positions { statements += try rows(of: position) }
            return statements
        case .links(let place, nil):
            var statements: [ProgramStatement] = []
            for contribution in relationships[place].contributions {
                guard let sql = try LinkStatements(self, relationships[place], contribution).links() else { continue }
                statements.append(ProgramStatement(sql, .once))
            }
            return statements
        case .links(let place, let index?):
            let contribution = relationships[place].contributions[index]
            guard let sql = try LinkStatements(self, relationships[place], contribution).links() else { return [] }
            return [ProgramStatement(sql, .chunks(over: "source.\(try sourceTable(of: contribution.mapping))"))]
        case .joinTable(let table, let origin?): return copyLinks(table, from: origin)
        case .joinTable(let table, nil): return [ProgramStatement(gatheredLinks(of: table), .once)]
        case .settle(let place):
            return try SettlingStatements(self, relationships[place], policies: policies).statements()
                .map { ProgramStatement($0, .once) }
        case .highestKeys: return try highestKeys()
        case .policies, .version: return []
        }
    }

    /// Copies a join table of the source that holds the same links.
    private func copyLinks(_ table: JoinTable, from origin: JoinTable) -> [ProgramStatement] {
        if wholeJoinTables.contains(table.name) {
            // SQLite copies records in this form only: all columns, no ORDER BY, into an empty table.
            return [
                ProgramStatement(table.index.sql, .schema),
                ProgramStatement("INSERT OR IGNORE INTO main.\(table.name) SELECT * FROM source.\(origin.name)", .once),
            ]
        }
        // In the order of the new primary key.
        let sorted = """
            INSERT OR IGNORE INTO main.\(table.name) (\(table.columns.joined(separator: ", ")))
            SELECT \(origin.columns.joined(separator: ", ")) FROM source.\(origin.name)
            ORDER BY \(origin.firstColumn), \(origin.secondColumn)
            """
        return [ProgramStatement(sorted, .once)]
    }

    /// Whether a statement makes an index that a join table is copied with.
    private func isWithJoinTable(_ statement: ProgramStatement) -> Bool {
        !wholeJoinTables.isEmpty
            && program.fills.joinTables.contains {
                wholeJoinTables.contains($0.table.name) && $0.table.index.sql == statement.sql.text
            }
    }

    // MARK: Rows

    /// The statements that carry the rows of an entity mapping.
    private func rows(of position: Int) throws(FerryError) -> [ProgramStatement] {
        let mapping = plan.resolved.entityMappings[position]
        let sql = MappingSQL(mapping, in: self)
        guard mapping.policy == nil else {
            let columns = destination.rowColumns(of: mapping.destination).map(\.name)
            let insert = RowInsert.sql(into: try destinationTable(of: mapping), columns: columns)
            return [ProgramStatement(try RowPlan(sql).sql, .rows), ProgramStatement(insert, .rows)]
        }
        let isAssociated = program.fills.keys[position].storesAssociations
        let chunks = ProgramStatement.Form.chunks(over: "source.\(try sourceTable(of: mapping))")
        guard mapping.unique.isEmpty else {
            return [
                ProgramStatement(try sql.find(associates: isAssociated), chunks),
                ProgramStatement(try sql.newObjectRows(from: sql.newObjects), chunks),
            ]
        }
        let associations = isAssociated ? [ProgramStatement(try sql.associations(), chunks)] : []
        return associations + [ProgramStatement(try sql.rows(), chunks)]
    }
}

extension StoreLayout {
    /// The columns of an entity's objects with the attributes that they store: attributes, then foreign keys with their
    /// entity and order columns.
    package func rowColumns(of entity: String) -> [(name: String, attribute: PropertyKey?)] {
        var columns: [(name: String, attribute: PropertyKey?)] = attributeColumns(of: entity).map { ($1.name, $0) }
        for (_, storage) in relationshipStorage(of: entity) {
            guard case .foreignKey(_, let column, let entityColumn, let orderColumn) = storage else { continue }
            columns += [column, entityColumn, orderColumn].compactMap { $0 }.map { ($0, nil) }
        }
        return columns
    }
}

/// The INSERT of one row with bound values: key, entity number, version, then the columns.
package enum RowInsert {
    package static func sql(into table: String, columns: [String]) -> String {
        let names = ["Z_PK", "Z_ENT", "Z_OPT"] + columns
        let values = names.indices.map { "?\($0 + 1)" }
        return """
            INSERT INTO main.\(table) (\(names.joined(separator: ", ")))
            VALUES (\(values.joined(separator: ", ")))
            """
    }
}
