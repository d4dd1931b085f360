internal import FerryExpression
internal import FerrySQLite

/// The values that a statement's SQL is bound to: no value is ever written into the SQL text.
struct Parameters {
    private(set) var values: [(name: String, value: Value)] = []
    /// Places of values with a name of their own, which no equal value shares.
    private var named: Set<Int> = []

    /// Adds a value and returns the parameter that stands for it.
    mutating func add(_ value: Value) -> String {
        if let known = values.indices.first(where: { values[$0].value == value && !named.contains($0) }) {
            return values[known].name
        }
        let name = ":v\(values.count)"
        values.append((name, value))
        return name
    }

    /// Gives a parameter of its own name a value, instead of any that it had.
    mutating func set(_ name: String, _ value: Value) {
        if let known = values.firstIndex(where: { $0.name == name }) {
            values[known].value = value
        } else {
            named.insert(values.count)
            values.append((name, value))
        }
    }

    /// Binds all values; they stay bound through every run of the statement.
    func bind(to statement: Statement) throws(DatabaseError) {
        for (name, value) in values { try statement.bind(value, named: name) }
    }
}
