internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The SQL of a foreign key that is written with its row.
struct ForeignKeySQL {
    let context: StepContext
    let mapping: ResolvedEntityMapping

    /// The foreign key, its entity number and its position, as far as the table has columns for them.
    func columns(
        of assignment: RelationshipAssignment, _ contribution: RelationshipContribution,
        in scope: inout SourceScope
    ) throws(FerryError) -> [(column: String, value: ColumnValue)] {
        guard case .foreignKey(_, let column, let entityColumn, let orderColumn) = assignment.storage else { return [] }
        if case .column(let copied) = contribution.key {
            let key = StoredValue(object: .init(alias: "s", entity: mapping.source), column: copied)
            var columns = [(column: column, value: ColumnValue(key))]
            if let entityColumn, let only = contribution.rule.mappings.first {
                let other = try context.mapping(named: only)
                let number = scope.parameters.add(.integer(try context.destinationNumber(of: other)))
                columns.append((entityColumn, ColumnValue("CASE WHEN \(key.sql) IS NOT NULL THEN \(number) END")))
            }
            return columns + order(orderColumn, of: contribution, key: key.sql, in: &scope)
        }
        let target = try self.target(of: contribution.rule.from, in: &scope)
        var keys: [String] = []
        var numbers: [String] = []
        for name in contribution.rule.mappings {
            let other = try context.mapping(named: name)
            let (condition, key) =
                contribution.isCounted
                ? (try carried(other, target, in: &scope), KeyCounter.call(other, by: mapping, at: target))
                : try candidate(other, at: target, in: &scope)
            let number = scope.parameters.add(.integer(try context.destinationNumber(of: other)))
            keys.append("WHEN \(condition) THEN \(key)")
            numbers.append("WHEN \(condition) THEN \(number)")
        }
        guard !keys.isEmpty else { return [] }
        let key = "CASE \(keys.joined(separator: " ")) END"
        var columns = [(column: column, value: ColumnValue(key))]
        if let entityColumn {
            columns.append((entityColumn, ColumnValue("CASE \(numbers.joined(separator: " ")) END")))
        }
        return columns + order(orderColumn, of: contribution, key: key, in: &scope)
    }

    /// The position among the inverse's objects, where it is passed on as it is.
    private func order(
        _ column: String?, of contribution: RelationshipContribution, key: String,
        in scope: inout SourceScope
    ) -> [(column: String, value: ColumnValue)] {
        guard let column, contribution.copiesOrder,
            case .foreignKey(_, _, _, let sourceOrder?)? = contribution.origin?.storage
        else { return [] }
        var position = "s.\(sourceOrder)"
        if context.step.resolved.hasPolicies {
            position = OrderKeys.noted(position, parameters: &scope.parameters)
        }
        return [(column, ColumnValue("CASE WHEN \(key) IS NOT NULL THEN \(position) END"))]
    }

    /// The object at the end of a to-one path.
    private func target(of from: Expression, in scope: inout SourceScope) throws(FerryError) -> SourceScope.Object {
        if let object = scope.object(from) { return object }
        if case .keyPath(let base, let steps) = from, let object = scope.object(base) {
            var names: [String] = []
            for case .key(let name) in steps { names.append(name) }
            return try scope.follow(names, from: object)
        }
        throw FerryError(
            .badExpression,
            "A relationship of entity mapping \(mapping.name) takes objects from something else than a path.",
            remedy: "Start its \"from\" at $source or at the iteration's variable.",
            place: .init(entityMapping: mapping.name))
    }

    /// When the object was carried by an entity mapping, and the key it got.
    private func candidate(
        _ other: ResolvedEntityMapping, at object: SourceScope.Object, in scope: inout SourceScope
    ) throws(FerryError) -> (condition: String, key: String) {
        if other.keepsPrimaryKey {
            return (try carried(other, object, in: &scope), object.key)
        }
        let alias = scope.newAlias("a")
        scope.join(
            "LEFT JOIN \(ScratchDatabase.association(of: other)) AS \(alias) ON \(alias).source = \(object.key)")
        return ("\(alias).destination IS NOT NULL", "\(alias).destination")
    }

    /// The condition under which a mapping carries an object as it is: its entity and its filter.
    func carried(
        _ other: ResolvedEntityMapping, _ object: SourceScope.Object, in scope: inout SourceScope
    ) throws(FerryError) -> String {
        if object.link != nil, other.filter == nil, context.source.model.family(of: object.entity) == [other.source] {
            return "\(object.key) IS NOT NULL"
        }
        let number = scope.parameters.add(.integer(try context.sourceNumber(of: other)))
        let isOfEntity = "\(object.alias).Z_ENT = \(number)"
        guard let filter = other.filter else { return isOfEntity }
        let sql = ExpressionSQL(context: context, mapping: other)
        return
            "(\(isOfEntity) AND \(try sql.condition(filter, of: .init(alias: object.alias, entity: other.source), in: &scope)))"
    }
}
