package import FerryExpression
package import FerryModel

/// A statement with the values that it binds.
package struct BoundSQL: Sendable, Hashable {
    package var text: String
    package var parameters: Parameters

    package init(_ text: String, _ parameters: Parameters = Parameters()) {
        (self.text, self.parameters) = (text, parameters)
    }
}

/// The parameters of a statement: SQL text can contain entity numbers, but never a value of a model or a mapping model.
package struct Parameters: Sendable, Hashable {
    package enum Value: Sendable, Hashable {
        case null
        case stored(DefaultValue)
        /// The run's fixed time, in seconds since 2001-01-01 UTC.
        case now
        /// The evaluator of a computation, for ``BoundComputation/function``.
        case evaluator(BoundComputation)
    }

    package struct Named: Sendable, Hashable {
        package var name: String
        package var value: Value
    }

    package private(set) var values: [Named] = []
    /// Begins the names of values that equal values share.
    private static let shared = ":v"

    package init() {}

    /// Adds a value and returns its parameter.
    package mutating func add(_ value: DefaultValue) -> String { add(.stored(value)) }

    /// Adds a value and returns its parameter, which equal values share.
    package mutating func add(_ value: Value) -> String {
        let known = values.first { $0.value == value && $0.name.hasPrefix(Self.shared) }
        if let known { return known.name }
        let name = "\(Self.shared)\(values.count)"
        values.append(Named(name: name, value: value))
        return name
    }

    /// Sets the value of a parameter with a fixed name, and replaces a former value.
    package mutating func set(_ name: String, _ value: DefaultValue) {
        if let known = values.firstIndex(where: { $0.name == name }) {
            values[known].value = .stored(value)
        } else {
            values.append(Named(name: name, value: .stored(value)))
        }
    }
}
