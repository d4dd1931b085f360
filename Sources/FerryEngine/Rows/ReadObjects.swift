package import FerryBase
internal import FerryExpression
package import FerryMapping
package import FerryModel
package import FerryPlan
package import FerrySQLite
package import FerryStore

/// Counts objects of a store by the entity mappings that read them, before a run.
package struct ReadObjects {
    private let layout: StoreLayout
    private let now: Double
    private var parameters = Parameters()

    /// The store is `main` on the connection that counts; `now` is the time for filters that ask for it.
    package init(in layout: StoreLayout, now: Double) { (self.layout, self.now) = (layout, now) }

    package mutating func parameter(_ value: DefaultValue) -> String { parameters.add(value) }

    /// An object of the counting statement: its key, and the alias and table of its row if the statement has it.
    package struct Object {
        package var key: String
        package var row: (alias: String, table: String)?

        package init(key: String, row: (alias: String, table: String)? = nil) { (self.key, self.row) = (key, row) }
    }

    /// SQL of whether an entity mapping reads an object, for at least one element if it iterates.
    ///
    /// Nil over JSON, or over the results of a query.
    package mutating func condition(
        _ reading: ChainLoss.Reading, of found: Object
    ) throws(FerryError) -> String? {
        let mapping = reading.mapping
        if let row = found.row, mapping.iteration == nil, reading.path.isEmpty,
            try layout.knownTable(of: mapping.source, in: "source") == row.table
        {
            var scope = try SourceScope(readBy: mapping, as: row.alias, in: layout, sharing: parameters)
            for condition in reading.conditions { scope.require(try scope.condition(condition)) }
            if scope.readsOneTable {
                parameters = scope.parameters
                // Unlike an expression of its own, that of a CASE does not compute a filter for rows of other entities.
                return "CASE WHEN \(scope.allConditions) THEN 1 ELSE 0 END"
            }
        }
        if let iteration = mapping.iteration {
            guard let names = IterationPath.relationships(of: iteration.elements), !names.isEmpty,
                IterationPath.entity(of: mapping, in: layout.model) != nil
            else { return nil }
        }
        var scope = try SourceScope(readBy: mapping, in: layout, sharing: parameters)
        var object = scope.source
        if reading.isOfElement, let iteration = mapping.iteration {
            object = scope.object(.variable(iteration.variable)) ?? object
        }
        for name in reading.path { object = try scope.expand(name, from: object).object }
        scope.require("\(object.key) = \(found.key)")
        for condition in reading.conditions { scope.require(try scope.condition(condition)) }
        parameters = scope.parameters
        return "EXISTS (SELECT 1 FROM \(scope.from)\(scope.where))"
    }

    /// SQL of the values that an entity mapping gives attributes of each of its objects, as `c0`, `c1` and so on.
    package mutating func values(
        of attributes: [Attribute], by mapping: ResolvedEntityMapping
    ) throws(FerryError) -> String {
        var scope = try SourceScope(readBy: mapping, in: layout, sharing: parameters)
        let translation = ExpressionTranslation(scope: mapping.expressionScope(in: layout.model))
        var values: [String] = []
        for (place, attribute) in attributes.enumerated() {
            let rule = mapping.attributes.first { $0.name == attribute.name }
            var value = rule?.defaultValue(of: attribute).map { scope.parameters.add($0) } ?? "NULL"
            if let expression = rule?.expression {
                let computation = try translation.value(expression, for: attribute)
                value = try scope.translate { translator throws(FerryError) in
                    try translator.sql(computation.mayFail ? .operation(.orNil, [computation]) : computation)
                }
            }
            values.append("\(value) AS c\(place)")
        }
        parameters = scope.parameters
        return "SELECT \(values.joined(separator: ", ")) FROM \(scope.from)\(scope.where)"
    }

    /// The integer that a query with ``parameter(_:)`` yields.
    package func integer(_ sql: String, on connection: Connection) throws -> Int64 {
        try integers(sql, on: connection).first ?? 0
    }

    /// The integers of a query's only row.
    package func integers(_ sql: String, on connection: Connection) throws -> [Int64] {
        try connection.readingSource {
            let statement = try connection.prepare(sql)
            try parameters.bind(to: statement, now: now)
            return try statement.step() ? (0..<statement.columnCount).map(statement.integer) : []
        }
    }
}

extension SourceScope {
    /// The objects, or elements of objects, that an entity mapping reads in a run, by the same SQL.
    init(
        readBy mapping: ResolvedEntityMapping, as alias: String = "s", in layout: StoreLayout,
        sharing parameters: Parameters = Parameters()
    ) throws(FerryError) {
        let table = try layout.knownTable(of: mapping.source, in: "source")
        self.init(
            mapping.expressionScope(in: layout.model), from: "source.\(table) AS \(alias)", as: alias, of: layout)
        self.parameters = parameters
        let number = self.parameters.add(.integer(try layout.knownNumber(of: mapping.source, in: "source")))
        require("\(alias).Z_ENT = \(number)")
        if let iteration = mapping.iteration {
            try iterate(over: iteration)
            if iteration.skipsInvalid, let order = elementOrder { require("\(order) IS NOT NULL") }
        }
        if let filter = mapping.filter { require(try condition(filter)) }
    }
}

extension Connection {
    /// Calls a body with the store, which is `main`, under the name that it has in a run.
    func readingSource<Result>(_ body: () throws -> Result) throws -> Result {
        try FunctionRegistry.register(on: self)
        return try withMain(named: "source", body)
    }
}
