package import FerryBase
package import FerryExpression
package import FerryMapping
internal import FerryModel
internal import FerryPlan
package import FerrySQLite
package import FerryStore

/// Counts, before a run, what an entity mapping reads and an attribute or a relationship cannot take.
package struct ReadValues {
    package enum Problem: Sendable {
        /// The computation gives nil.
        case empty
        /// The computation fails.
        case invalid
    }

    package struct Count: Sendable {
        /// Objects, or elements of objects.
        package var rows: Int64
        /// The keys of the first objects.
        package var keys: [Int64] = []
        /// The failure of the first object's value.
        package var reason: String?
    }

    private var scope: SourceScope
    private let mapping: ResolvedEntityMapping
    private let layout: StoreLayout
    private let now: Double
    private var conditions: [(sql: String, value: String?)] = []

    private static let exampleKeys = 3

    /// The mapping reads the store with this layout; `now` is the time for expressions that ask for it.
    package init(
        of mapping: ResolvedEntityMapping, in layout: StoreLayout, now: Double
    ) throws(FerryError) {
        (self.mapping, self.layout, self.now) = (mapping, layout, now)
        scope = try SourceScope(readBy: mapping, in: layout)
    }

    /// Adds a question about the values of an attribute.
    package mutating func add(_ problem: Problem, of computation: Computation) throws(FerryError) {
        let fails = Computation.operation(.fails, [computation])
        switch problem {
        case .empty:
            let isEmpty: Computation =
                computation.mayFail
                ? .all([.operation(.isNull, [.operation(.orNil, [computation])]), .not(fails)])
                : .operation(.isNull, [computation])
            conditions.append((try sql(isEmpty), nil))
        case .invalid: conditions.append((try sql(fails), try sql(computation)))
        }
    }

    /// Adds a question that no object meets: the objects are read, so that a filter that fails is found.
    package mutating func addNone() { conditions.append(("FALSE", nil)) }

    private mutating func sql(_ computation: Computation) throws(FerryError) -> String {
        try scope.translate { translator throws(FerryError) in try translator.sql(computation) }
    }

    /// Adds the question which objects get no related object by a rule, or without one; false if the store does not tell.
    ///
    /// `linked`: only those that have a related object in the store.
    package mutating func addUnrelated(
        by rule: ResolvedRelationship?, to targets: [ResolvedEntityMapping], linked: Bool
    ) throws(FerryError) -> Bool {
        guard let rule else {
            conditions.append(("TRUE", nil))
            return true
        }
        guard targets.allSatisfy({ $0.iteration == nil && $0.policy == nil }) else { return false }
        let target: SourceScope.Object
        if let object = scope.object(rule.from) {
            target = object
        } else if case .keyPath(let base, let steps) = rule.from, let names = steps.keys,
            let object = scope.object(base),
            isToOne(names, from: object.entity)
        {
            target = try scope.follow(names, from: object)
        } else {
            return false
        }
        // Nothing is missing where every related object is read.
        let read = Set(targets.filter(\.readsEveryObject).map(\.source))
        if linked, layout.model.concreteFamily(of: target.entity).isSubset(of: read) { return false }
        var carried: [String] = []
        for other in targets { carried.append(try scope.condition(that: target, isReadBy: other)) }
        let isRelated = carried.isEmpty ? "FALSE" : carried.joined(separator: " OR ")
        let link = linked ? "\(target.alias).Z_PK IS NOT NULL AND " : ""
        conditions.append(("\(link)(\(isRelated)) IS NOT TRUE", nil))
        return true
    }

    private func isToOne(_ names: [String], from entity: String) -> Bool {
        var entity = entity
        for name in names {
            guard let relationship = layout.model.relationship(name, of: entity), !relationship.isToMany else {
                return false
            }
            entity = relationship.destinationEntity
        }
        return true
    }

    /// The counts, in the order of the questions, by one scan of the objects.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` if a filter or an iteration fails; ``DatabaseError``.
    package func counts(on connection: Connection, longestValue: Int) throws -> [Count] {
        guard !conditions.isEmpty else { return [] }
        return try connection.readingSource {
            try connection.with(.length, longestValue) {
                let rows = try rows(on: connection, longestValue)
                return try zip(conditions, rows).map { condition, rows in
                    var count = Count(rows: rows)
                    guard rows > 0 else { return count }
                    count.keys = try keys(where: condition.sql, on: connection)
                    if let value = condition.value, let key = count.keys.first {
                        count.reason = try failure(of: value, key, on: connection)
                    }
                    return count
                }
            }
        }
    }

    private func keys(where condition: String, on connection: Connection) throws -> [Int64] {
        let statement = try prepare(
            """
            SELECT DISTINCT s.Z_PK FROM \(scope.from)\(scope.where) AND (\(condition))
            ORDER BY s.Z_PK LIMIT \(Self.exampleKeys)
            """, on: connection)
        var keys: [Int64] = []
        while try statement.step() { keys.append(statement.integer(0)) }
        return keys
    }

    /// The message of the function that fails on an object's value.
    private func failure(of value: String, _ key: Int64, on connection: Connection) throws -> String? {
        do {
            let statement = try prepare(
                "SELECT \(value) FROM \(scope.from)\(scope.where) AND s.Z_PK = \(key)", on: connection)
            while try statement.step() {}
            return nil
        } catch {
            guard let failure = connection.takeFunctionError() as? FerryError, failure.code == .rowFailed else {
                throw error
            }
            return failure.message
        }
    }

    /// The numbers of rows, in the order of the questions.
    private func rows(on connection: Connection, _ longestValue: Int) throws -> [Int64] {
        let sums = conditions.map { "ifnull(sum(CASE WHEN \($0.sql) THEN 1 ELSE 0 END), 0)" }
        let statement = try prepare(
            "SELECT \(sums.joined(separator: ", ")) FROM \(scope.from)\(scope.where)", on: connection)
        do {
            return try statement.step() ? conditions.indices.map(statement.integer) : []
        } catch {
            guard let failure = connection.takeFunctionError() as? FerryError else { throw error }
            // A filter or an iteration fails on an object.
            var rows = scope
            rows.require("s.Z_PK > :low AND s.Z_PK <= :high")
            let search = FailedRowSearch(
                entity: mapping.source, columns: [], rows: rows, connection: connection, longestValue: longestValue,
                now: now)
            throw try search.located(failure)
        }
    }

    private func prepare(_ sql: String, on connection: Connection) throws -> Statement {
        let statement = try connection.prepare(sql)
        try scope.parameters.bind(to: statement, now: now)
        return statement
    }
}
