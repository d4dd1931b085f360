package import FerryBase

/// A function on values: the one implementation behind SQL text and Swift code.
package struct ScalarFunction: Sendable {
    package typealias Arguments = UnsafeBufferPointer<FunctionValue>
    package typealias Body =
        @Sendable (_ arguments: Arguments, _ result: inout FunctionResult) throws(FerryError) -> Void

    /// The name in SQL; begins with `ferry_`.
    package let name: String
    /// What messages call it: the selector or operator that a user wrote.
    package let title: String
    /// How many arguments it takes; -1 for any number.
    package let argumentCount: Int
    /// Whether equal arguments always give the equal result, so that SQLite may factor it out of a loop.
    package let isDeterministic: Bool
    private let body: Body

    init(
        _ name: String, title: String, arguments: Int, isDeterministic: Bool = true, body: @escaping Body
    ) {
        self.name = name
        self.title = title
        argumentCount = arguments
        self.isDeterministic = isDeterministic
        self.body = body
    }

    /// Evaluates the function.
    ///
    /// - Parameters:
    ///   - arguments: As many as ``argumentCount`` says.
    ///   - result: Receives the value; its buffer is used again.
    /// - Throws: ``FerryError`` `.rowFailed` naming the function, never a value.
    package func call(_ arguments: Arguments, result: inout FunctionResult) throws(FerryError) {
        precondition(argumentCount < 0 || arguments.count == argumentCount, "\(name) takes \(argumentCount) arguments")
        result.setNull()
        try body(arguments, &result)
    }

    /// Every function, in no particular order.
    package static let all: [ScalarFunction] =
        arithmetic + mathematics + bitwise + text + comparison + matching + conversions + json + fitted + programs
        + lists + methods + searches
        + dates + encodings + sets + draws + propertyLists

    func takes(_ count: Int) -> Bool { argumentCount < 0 ? count <= 127 : argumentCount == count }

    package static func named(_ name: String) -> ScalarFunction? { byName[name] }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}

extension FunctionValue {
    enum Number {
        case integer(Int64)
        case real(Double)

        var real: Double {
            switch self {
            case .integer(let integer): Double(integer)
            case .real(let real): real
            }
        }
    }

    var isNull: Bool { if case .null = self { true } else { false } }

    /// The argument as a number, or nil when it is null.
    func number(_ title: String) throws(FerryError) -> Number? {
        switch self {
        case .null: return nil
        case .integer(let integer): return .integer(integer)
        case .real(let real): return .real(real)
        case .text, .blob: throw .row(title, "needs a number and was given \(kind)")
        }
    }

    /// The bytes of a text argument, or nil when it is null.
    func text(_ title: String) throws(FerryError) -> UnsafeRawBufferPointer? {
        switch self {
        case .null: return nil
        case .text(let bytes): return bytes
        case .integer, .real, .blob: throw .row(title, "needs text and was given \(kind)")
        }
    }

    /// A text argument as a string, or nil when it is null.
    func string(_ title: String) throws(FerryError) -> String? {
        guard let bytes = try text(title) else { return nil }
        guard let string = String(utf8: bytes) else {
            throw .row(title, "was given text that is no valid UTF-8")
        }
        return string
    }

    var kind: String {
        switch self {
        case .null: "nil"
        case .integer: "an integer"
        case .real: "a floating-point number"
        case .text: "text"
        case .blob: "binary data"
        }
    }
}

extension FerryError {
    /// A value that a function cannot take; never says which value.
    static func row(_ title: String, _ problem: String) -> FerryError {
        FerryError(
            .rowFailed, "\(title) \(problem).",
            remedy: "Correct the object in the source, or leave it out with a `where` in the mapping.")
    }
}
