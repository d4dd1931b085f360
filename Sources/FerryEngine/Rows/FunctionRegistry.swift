internal import FerryBase
internal import FerryExpression
package import FerrySQLite

/// Makes the functions of the expression language known to a connection.
package enum FunctionRegistry {
    package static func register(on connection: Connection) throws(DatabaseError) {
        for function in ScalarFunction.all {
            let call = Call(function)
            try connection.register(
                function.name, arguments: function.argumentCount, deterministic: function.isDeterministic
            ) { arguments, result in try call.run(arguments, &result) }
        }
        try connection.register(
            table: JSONElements.name, columns: JSONElements.columns, argumentCount: JSONElements.argumentCount
        ) { JSONElements() }
    }
}

/// One function with the memory that its calls share.
///
/// The memory is reached by pointers: for each access to a variable of an object Swift asks at run time whether another
/// one is going on, which took longer than the functions.
private final class Call {
    private let function: ScalarFunction
    private let result: UnsafeMutablePointer<FerryExpression.FunctionResult>
    private let values: UnsafeMutablePointer<FunctionValue>

    /// The most arguments that SQLite gives to a function that takes any number.
    private static let mostArguments = 127

    init(_ function: ScalarFunction) {
        self.function = function
        result = .allocate(capacity: 1)
        result.initialize(to: .init())
        let count = function.argumentCount < 0 ? Self.mostArguments : function.argumentCount
        values = .allocate(capacity: count)
        values.initialize(repeating: .null, count: count)
    }

    deinit {
        result.deinitialize(count: 1)
        result.deallocate()
        values.deallocate()
    }

    func run(_ arguments: borrowing FunctionArguments, _ sqlResult: inout FerrySQLite.FunctionResult) throws {
        arguments.read(into: values)
        try function.call(UnsafeBufferPointer(start: values, count: arguments.count), result: &result.pointee)
        if case .argument(let index) = result.pointee.value {
            sqlResult.pass(argument: index, of: arguments)
        } else {
            sqlResult.set(result)
        }
    }
}

extension FerrySQLite.FunctionResult {
    /// Sets what a function of the expression language yielded; not one of its arguments.
    ///
    /// Where it is, is given: the result itself would be retained for each call, with all that it keeps.
    mutating func set(_ result: UnsafePointer<FerryExpression.FunctionResult>) {
        switch result.pointee.value {
        case .null: setNull()
        case .integer(let integer): set(integer)
        case .real(let real): set(real)
        case .text: result.pointee.bytes.withUnsafeBytes { setText($0) }
        case .blob: result.pointee.bytes.withUnsafeBytes { setBlob($0) }
        case .borrowedText(let bytes): setText(bytes)
        case .argument: preconditionFailure("only the caller has the arguments")
        }
    }
}
