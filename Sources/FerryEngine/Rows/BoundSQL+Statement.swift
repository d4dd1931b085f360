internal import FerryBase
internal import FerryExpression
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

extension BoundSQL {
    /// Prepares the statement and binds its values; `now` is the run's fixed time.
    func prepare(on connection: Connection, now: Double) throws(DatabaseError) -> Statement {
        let statement = try connection.prepare(text)
        try parameters.bind(to: statement, now: now)
        return statement
    }
}

extension Connection {
    /// Runs a statement that is one unit; `now` is the run's fixed time.
    func run(_ planned: ProgramStatement, now: Double) throws(DatabaseError) {
        if planned.form == .schema, planned.sql.parameters.values.isEmpty { return try execute(planned.sql.text) }
        let statement = try planned.sql.prepare(on: self, now: now)
        // A statement with a range of keys takes all of them.
        try statement.bind(KeyRange.all)
        try statement.run()
    }
}

extension Parameters {
    func bind(to statement: Statement, now: Double) throws(DatabaseError) {
        for named in values {
            switch named.value {
            case .null: try statement.bind(.null, named: named.name)
            case .stored(let stored): try statement.bind(FerrySQLite.Value(stored), named: named.name)
            case .now: try statement.bind(.real(now), named: named.name)
            case .evaluator(let bound): try statement.bind(object: RowEvaluator(bound), named: named.name)
            }
        }
    }
}

extension Value {
    /// A stored value; nil becomes NULL.
    init(_ value: DefaultValue?) { self = value.map { Value($0) } ?? .null }
}

extension Statement {
    func bind(_ value: FunctionValue, at index: Int) throws(DatabaseError) {
        switch value {
        case .null: try bindNull(at: index)
        case .integer(let integer): try bind(integer, at: index)
        case .real(let real): try bind(real, at: index)
        case .text(let bytes): try bind(text: bytes, at: index)
        case .blob(let bytes): try bind(blob: bytes, at: index)
        }
    }
}
