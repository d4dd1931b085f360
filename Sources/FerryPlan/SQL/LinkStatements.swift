package import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryStore

/// Writes the SQL that sets the relationships of one entity mapping's objects, over a range of its source keys.
///
/// Every statement reads the same pairs: `d1`, an object of the mapping, and `d2`, a related object.
package struct LinkStatements {
    private let step: StepSQL
    private let assignment: RelationshipAssignment
    private let contribution: RelationshipContribution

    package init(_ step: StepSQL, _ assignment: RelationshipAssignment, _ contribution: RelationshipContribution) {
        (self.step, self.assignment, self.contribution) = (step, assignment, contribution)
    }

    private var mapping: ResolvedEntityMapping { contribution.mapping }
    private var sql: MappingSQL { MappingSQL(mapping, in: step) }

    /// The statement for the objects of a range, or nil if the rule names no mapping for the related objects.
    package func links() throws(FerryError) -> BoundSQL? {
        guard !contribution.rule.mappings.isEmpty else { return nil }
        var parameters = Parameters()
        var selects: [String] = []
        for name in contribution.rule.mappings {
            selects.append(try pairs(with: try step.mapping(named: name), parameters: &parameters))
        }
        let pairs = selects.joined(separator: " UNION ALL ")
        let text: String
        switch assignment.storage {
        case .join(let table, let own, let other, let otherOrder, let ownOrder):
            if let fill = step.program.fills.joinTable(table), fill.order == .gathered {
                text = gatheredRows(pairs, of: fill.table, own: own, &parameters)
            } else {
                let comesFirst = step.destination.joinTables.contains { $0.name == table && $0.firstColumn == own }
                text = joinRows(
                    pairs, table: table, own: own, other: other, orders: (otherOrder, ownOrder),
                    key: comesFirst ? "d1, d2" : "d2, d1")
            }
        case .foreignKey(let table, let column, let entityColumn, let orderColumn):
            let one = parameters.add(.integer(1))
            var numbers = entityColumn.map { ", \($0) = p.number" } ?? ""
            if let orderColumn, contribution.copied.own {
                numbers += ", \(orderColumn) = \(copiedPosition("p.inverse", &parameters))"
            }
            text = """
                UPDATE main.\(table) SET \(column) = p.d2\(numbers) FROM (
                    SELECT d1, d2, number, inverse, row_number() OVER (
                        PARTITION BY d1 ORDER BY origin, element, mapping, target, part) AS n
                    FROM (\(pairs))) AS p
                WHERE \(table).Z_PK = p.d1 AND p.n = \(one) AND \(table).\(column) IS NULL
                """
        case .inverseForeignKey(let table, let column, let entityColumn, let orderColumn):
            text = try inverseKeys(pairs, table, column, entityColumn, orderColumn, &parameters)
        case .inverseless(let table, let column): text = try inverseKeys(pairs, table, column, nil, nil, &parameters)
        }
        return BoundSQL(text, parameters)
    }

    // MARK: Pairs

    /// Pairs of this mapping's objects with the objects that another mapping made at the end of the path.
    private func pairs(
        with other: ResolvedEntityMapping, parameters: inout Parameters
    ) throws(FerryError) -> String {
        if contribution.isOwnAssociation(of: other) { return try pairsOfAssociation(other, &parameters) }
        var scope = try objects(parameters: parameters)
        let path = try end(of: contribution.rule.from, in: &scope)
        let related: String
        let part: String
        var number = scope.parameters.add(.integer(try step.destinationNumber(of: other)))
        if other.keepsPrimaryKey {
            scope.require(try sql.carried(other, path.object, in: &scope))
            related = path.object.key
            part = "NULL"
        } else {
            let alias = scope.newAlias("b")
            scope.join(
                "JOIN \(ScratchTables.association(of: other)) AS \(alias) ON \(alias).source = \(path.object.key)"
            )
            related = "\(alias).destination"
            part = "\(alias).element"
            if other.policy != nil {
                number = "\(alias).entity"
                scope.require("\(alias).entity IN (\(numbers(ofFamily: assignment.relationship.destinationEntity)))")
            }
        }
        let position = scope.parameters.add(.integer(Int64(other.position)))
        let isKept = mapping.keepsPrimaryKey
        let columns = [
            "\(isKept ? "s.Z_PK" : "a.destination") AS d1", "\(related) AS d2", "\(number) AS number",
            "\(position) AS mapping", "s.Z_PK AS origin", "\(isKept ? "NULL" : "a.element") AS element",
            "\(path.order ?? "NULL") AS stored", "\(path.inverseOrder ?? "NULL") AS inverse",
            "\(path.object.key) AS target", "\(part) AS part",
        ]
        parameters = scope.parameters
        return "SELECT \(columns.joined(separator: ", ")) FROM \(scope.from)\(scope.where)"
    }

    private func pairsOfAssociation(
        _ other: ResolvedEntityMapping, _ parameters: inout Parameters
    ) throws(FerryError) -> String {
        let number = parameters.add(.integer(try step.destinationNumber(of: other)))
        let position = parameters.add(.integer(Int64(other.position)))
        return """
            SELECT source AS d1, destination AS d2, \(number) AS number, \(position) AS mapping, source AS origin,
                NULL AS element, NULL AS stored, NULL AS inverse, source AS target, element AS part
            FROM \(ScratchTables.association(of: other)) WHERE source > :low AND source <= :high
            """
    }

    /// The objects of this mapping, by their kept keys or by their associations.
    private func objects(parameters: Parameters) throws(FerryError) -> SourceScope {
        if mapping.keepsPrimaryKey {
            return try sql.scope(parameters: parameters)
        }
        var scope = sql.scope(
            from: """
                \(ScratchTables.association(of: mapping)) AS a
                JOIN source.\(try step.sourceTable(of: mapping)) AS s ON s.Z_PK = a.source
                """, parameters: parameters)
        scope.require("a.source > :low AND a.source <= :high")
        if mapping.policy != nil {
            scope.require("a.destination = :only AND a.entity IN (\(numbers(ofFamily: assignment.declared.entity)))")
        }
        if let iteration = mapping.iteration,
            let entity = IterationPath.entity(of: mapping, in: step.source.model)
        {
            scope.join("JOIN \(try scope.table(of: entity)) AS e ON e.Z_PK = a.object")
            scope.bind(iteration.variable, to: .init(alias: "e", entity: entity))
        }
        return scope
    }

    /// Joins the objects at the end of a path of relationships; collection operators add no join.
    private func end(of from: Expression, in scope: inout SourceScope) throws(FerryError) -> SourceScope.Expansion {
        if let object = scope.object(from) { return SourceScope.Expansion(object: object) }
        if !from.isPath {
            let object = try sql.join(from, to: &scope)
            return SourceScope.Expansion(object: object)
        }
        guard case .keyPath(let base, let steps) = from, let start = scope.object(base) else {
            throw sql.notAPath(contribution.rule.name)
        }
        var expansion = SourceScope.Expansion(object: start)
        for case .key(let name) in steps {
            expansion = try scope.expand(
                name, from: expansion.object,
                isSound: step.program.fills.damage.isSound(name, of: expansion.object.entity))
        }
        return expansion
    }

    private func numbers(ofFamily entity: String) -> String {
        step.destination.numbers(ofFamily: entity).sqlList
    }

    // MARK: Forms

    /// Rows of a join table in the order of its primary key.
    private func joinRows(
        _ pairs: String, table: String, own: String, other: String, orders: (other: String?, own: String?), key: String
    ) -> String {
        let columns = [own, other] + [orders.other, orders.own].compactMap { $0 }
        let values = ["d1", "d2"] + (orders.other == nil ? [] : ["stored"]) + (orders.own == nil ? [] : ["inverse"])
        return """
            INSERT OR IGNORE INTO main.\(table) (\(columns.joined(separator: ", ")))
            SELECT \(values.joined(separator: ", ")) FROM (\(pairs)) ORDER BY \(key)
            """
    }

    /// Rows in scratch for a join table; their rowids give the order of insertion.
    private func gatheredRows(
        _ pairs: String, of table: JoinTable, own: String, _ parameters: inout Parameters
    ) -> String {
        var (stored, inverse) = ("stored", "inverse")
        if step.hasPolicies {
            stored = contribution.copied.related ? copiedPosition(stored, &parameters) : "NULL"
            inverse = contribution.copied.own ? copiedPosition(inverse, &parameters) : "NULL"
        }
        let values = own == table.firstColumn ? "d1, d2, \(inverse), \(stored)" : "d2, d1, \(stored), \(inverse)"
        return """
            INSERT INTO \(ScratchTables.links(of: table)) (first, second, firstOrder, secondOrder)
            SELECT \(values) FROM (\(pairs)) ORDER BY origin, element, stored, target, mapping, part
            """
    }

    /// Foreign keys in the related objects' table; the first object with a link to a related object gets it.
    private func inverseKeys(
        _ pairs: String, _ table: String, _ column: String, _ entityColumn: String?, _ orderColumn: String?,
        _ parameters: inout Parameters
    ) throws(FerryError) -> String {
        let one = parameters.add(.integer(1))
        var assignments = ["\(column) = p.d1"]
        if let entityColumn {
            let number = parameters.add(.integer(try step.destinationNumber(of: mapping)))
            assignments.append("\(entityColumn) = \(number)")
        }
        if let orderColumn {
            assignments.append("\(orderColumn) = \(try position(&parameters))")
        }
        return """
            UPDATE main.\(table) SET \(assignments.joined(separator: ", ")) FROM (
                SELECT d1, d2, stored,
                    row_number() OVER (PARTITION BY d2 ORDER BY origin, element) AS n,
                    row_number() OVER (PARTITION BY d1 ORDER BY stored, target, mapping, part) AS place
                FROM (\(pairs))) AS p
            WHERE \(table).Z_PK = p.d2 AND p.n = \(one) AND \(table).\(column) IS NULL
            """
    }

    /// A position of the source; with policies, the notation for ``OrderKeys/settle(_:of:among:)``.
    private func copiedPosition(_ position: String, _ parameters: inout Parameters) -> String {
        step.hasPolicies ? OrderKeys.noted(position, parameters: &parameters) : position
    }

    private func position(_ parameters: inout Parameters) throws(FerryError) -> String {
        if contribution.copiesOrder { return copiedPosition("p.stored", &parameters) }
        guard mapping.unique.isEmpty else { throw mapping.refusal(ofOrder: contribution.rule.name) }
        return OrderKeys.sql(place: "p.place", parameters: &parameters)
    }
}

extension ResolvedEntityMapping {
    /// Refuses to order the objects that a found object gets from the whole source: no range knows their positions.
    func checkOrders(in step: ResolvedStep) throws(FerryError) {
        guard !unique.isEmpty else { return }
        let model = step.destination.model
        for rule in relationships where !rule.mappings.isEmpty {
            guard let target = model.relationship(rule.name, of: destination), target.isToMany, target.isOrdered,
                model.inverse(of: target)?.isToMany == false,
                !CopiedOrders.arePassedOn(by: rule, of: self, step)
            else { continue }
            throw refusal(ofOrder: rule.name)
        }
    }

    fileprivate func refusal(ofOrder relationship: String) -> FerryError {
        FerryError(
            .unsupported,
            "Entity mapping \(name) finds or creates objects and fills the ordered relationship \(relationship).",
            remedy: "Fill the relationship from its inverse instead.",
            place: .init(entityMapping: name, property: relationship))
    }
}
