package import FerryBase
internal import FerryExpression
internal import FerryMapping
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

    /// SQL of whether an entity mapping reads the object with a key, for at least one element if it iterates.
    ///
    /// Nil over JSON, or over the results of a query.
    package mutating func condition(_ reading: ChainLoss.Reading, key: String) throws(FerryError) -> String? {
        let mapping = reading.mapping
        var scope = SourceScope(
            mapping.expressionScope(in: layout.model),
            from: "main.\(try layout.knownTable(of: mapping.source, in: "source")) AS s", of: layout, in: "main")
        scope.parameters = parameters
        let number = scope.parameters.add(.integer(try layout.knownNumber(of: mapping.source, in: "source")))
        scope.require("s.Z_ENT = \(number)")
        var object = scope.source
        if let iteration = mapping.iteration {
            guard let names = IterationPath.relationships(of: iteration.elements), !names.isEmpty,
                IterationPath.entity(of: mapping, in: layout.model) != nil
            else { return nil }
            try scope.iterate(over: iteration)
            if reading.isOfElement { object = scope.object(.variable(iteration.variable)) ?? object }
        }
        for name in reading.path { object = try scope.expand(name, from: object).object }
        scope.require("\(object.key) = \(key)")
        for condition in (mapping.filter.map { [$0] } ?? []) + reading.conditions {
            scope.require(try scope.condition(condition))
        }
        parameters = scope.parameters
        return "EXISTS (SELECT 1 FROM \(scope.from)\(scope.where))"
    }

    /// The integer that a query with ``parameter(_:)`` yields.
    package func integer(_ sql: String, on connection: Connection) throws(DatabaseError) -> Int64 {
        try FunctionRegistry.register(on: connection)
        let statement = try connection.prepare(sql)
        try parameters.bind(to: statement, now: now)
        return try statement.step() ? statement.integer(0) : 0
    }
}
