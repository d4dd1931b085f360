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

extension Parameters {
    func bind(to statement: Statement, now: Double) throws(DatabaseError) {
        for named in values { try statement.bind(FerrySQLite.Value(named.value, now: now), named: named.name) }
    }
}

extension Value {
    init(_ value: Parameters.Value, now: Double) {
        switch value {
        case .null: self = .null
        case .stored(let stored): self.init(stored)
        case .now: self = .real(now)
        }
    }
}
