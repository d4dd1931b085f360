package import FerryBase
package import FerryExpression
package import FerryMapping
internal import FerryModel
internal import FerryStore

extension MappingSQL {
    package func value(of source: ColumnSource, in scope: inout SourceScope) throws(FerryError) -> ColumnValue {
        switch source {
        case .column(let name): return ColumnValue(StoredValue(object: scope.source, column: name))
        case .constant(let value): return ColumnValue(scope.parameters.add(value))
        case .expression(let expression):
            return try placed { () throws(FerryError) in
                let computation = try expression.computation(in: step.source.model)
                var value = ColumnValue(
                    try scope.translate { translator throws(FerryError) in try translator.sql(computation) })
                value.stored = try scope.stored(computation)
                return value
            }
        }
    }

    /// The values that expressions compute, by attribute, and the rows of a range for which they do.
    package func computedValues() throws(FerryError) -> (
        columns: [(property: String, sql: String)], rows: SourceScope
    ) {
        var scope = try scope()
        var columns: [(property: String, sql: String)] = []
        for column in step.program.fills.columns[mapping.position] {
            guard case .expression = column.source else { continue }
            columns.append((column.attribute.name, try value(of: column.source, in: &scope).sql))
        }
        return (columns, scope)
    }

    /// The values by which the mapping finds an object, in the order of `unique`.
    package func uniqueValues(in scope: inout SourceScope) throws(FerryError) -> [String] {
        var values: [String] = []
        for name in mapping.unique {
            let column = step.program.fills.columns[mapping.position].first { $0.attribute.name == name }
            values.append(
                try column.map { column throws(FerryError) in try value(of: column.source, in: &scope).sql } ?? "NULL")
        }
        return values
    }

    package func condition(_ predicate: Predicate, in scope: inout SourceScope) throws(FerryError) -> String {
        try placed { () throws(FerryError) in try scope.condition(predicate) }
    }

    /// Joins the objects of an expression that is not a path, each once.
    package func join(_ expression: Expression, to scope: inout SourceScope) throws(FerryError) -> SourceScope.Object {
        try placed { () throws(FerryError) in try scope.join(objectsOf: expression) }
    }

    /// Runs the body, and adds the entity mapping to its error.
    package func placed<Result>(_ body: () throws(FerryError) -> Result) throws(FerryError) -> Result {
        do {
            return try body()
        } catch {
            throw error.placed(in: mapping)
        }
    }
}

/// Foreign keys that the INSERT of their row sets.
extension MappingSQL {
    package func keys(
        of assignment: RelationshipAssignment, _ contribution: RelationshipContribution,
        in scope: inout SourceScope
    ) throws(FerryError) -> [(column: String, value: ColumnValue)] {
        guard case .foreignKey(_, let column, let entityColumn, let orderColumn) = assignment.storage else { return [] }
        var columns: [(column: String, value: ColumnValue)] = []
        if case .column(let copied) = contribution.key {
            let key = StoredValue(object: scope.source, column: copied)
            columns.append((column, ColumnValue(key)))
            if let entityColumn, let only = contribution.rule.mappings.first {
                let other = try step.mapping(named: only)
                let number = scope.parameters.add(.integer(try step.destinationNumber(of: other)))
                columns.append((entityColumn, ColumnValue("CASE WHEN \(key.sql) IS NOT NULL THEN \(number) END")))
            }
        } else {
            let target = try self.target(of: contribution.rule, in: &scope)
            var keys: [String] = []
            var numbers: [String] = []
            for name in contribution.rule.mappings {
                let other = try step.mapping(named: name)
                let (condition, key) =
                    contribution.isCounted
                    ? (try carried(other, target, in: &scope), key(of: other, at: target))
                    : try candidate(other, at: target, in: &scope)
                let number = scope.parameters.add(.integer(try step.destinationNumber(of: other)))
                keys.append("WHEN \(condition) THEN \(key)")
                numbers.append("WHEN \(condition) THEN \(number)")
            }
            guard !keys.isEmpty else { return [] }
            columns.append((column, ColumnValue("CASE \(keys.joined(separator: " ")) END")))
            if let entityColumn {
                columns.append((entityColumn, ColumnValue("CASE \(numbers.joined(separator: " ")) END")))
            }
        }
        // The position among the inverse's objects, if it is copied.
        if let orderColumn, contribution.copiesOrder,
            case .foreignKey(_, _, _, let sourceOrder?)? = contribution.origin?.storage
        {
            let position =
                step.hasPolicies
                ? OrderKeys.noted("s.\(sourceOrder)", parameters: &scope.parameters) : "s.\(sourceOrder)"
            let key = columns[0].value.sql
            columns.append((orderColumn, ColumnValue("CASE WHEN \(key) IS NOT NULL THEN \(position) END")))
        }
        return columns
    }

    private func target(of rule: ResolvedRelationship, in scope: inout SourceScope) throws(FerryError)
        -> SourceScope.Object
    {
        if let object = scope.object(rule.from) { return object }
        if case .keyPath(let base, let steps) = rule.from, let names = steps.keys, let object = scope.object(base) {
            return try scope.follow(names, from: object)
        }
        throw notAPath(rule.name)
    }

    /// The error for a relationship whose `from` has no known start.
    func notAPath(_ relationship: String) -> FerryError {
        FerryError(
            .badExpression,
            "Relationship \(relationship) of entity mapping \(mapping.name) takes objects from something "
                + "other than a path.",
            remedy: "Start its \"from\" at $source or at the iteration's variable.",
            place: .init(entityMapping: mapping.name, property: relationship))
    }

    /// The condition under which another mapping migrated the object, and its new key.
    private func candidate(
        _ other: ResolvedEntityMapping, at object: SourceScope.Object, in scope: inout SourceScope
    ) throws(FerryError) -> (condition: String, key: String) {
        if other.keepsPrimaryKey {
            return (try carried(other, object, in: &scope), object.key)
        }
        let alias = scope.newAlias("a")
        scope.join(
            "LEFT JOIN \(ScratchTables.association(of: other)) AS \(alias) ON \(alias).source = \(object.key)")
        return ("\(alias).destination IS NOT NULL", "\(alias).destination")
    }

    /// The condition under which a mapping migrates an object: its entity and its filter.
    package func carried(
        _ other: ResolvedEntityMapping, _ object: SourceScope.Object, in scope: inout SourceScope
    ) throws(FerryError) -> String {
        if object.link != nil, other.filter == nil, step.source.model.family(of: object.entity) == [other.source] {
            return "\(object.key) IS NOT NULL"
        }
        return try MappingSQL(other, in: step).placed { () throws(FerryError) in
            try scope.condition(that: object, isReadBy: other)
        }
    }
}

/// The SQL of a destination column's value, with the stored value that it copies, if any.
package struct ColumnValue {
    package var sql: String
    /// The copied value, which may have any size; nil for a computed value or a constant.
    package var stored: StoredValue?

    package init(_ sql: String) { self.sql = sql }

    package init(_ stored: StoredValue) { (sql, self.stored) = (stored.sql, stored) }
}

/// A stored value that may be copied in pieces.
package struct StoredValue {
    package var object: SourceScope.Object
    /// Not quoted.
    package var column: String
    package var mark = PassedValue.Mark.asStored

    package var sql: String { "\(object.alias).\(column)" }
}
