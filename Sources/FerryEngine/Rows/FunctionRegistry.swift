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
private final class Call {
    private let function: ScalarFunction
    private var result = FerryExpression.FunctionResult()
    private var values: [FunctionValue] = []

    init(_ function: ScalarFunction) { self.function = function }

    func run(_ arguments: borrowing FunctionArguments, _ sqlResult: inout FerrySQLite.FunctionResult) throws {
        values.removeAll(keepingCapacity: true)
        for index in 0..<arguments.count { values.append(value(index, of: arguments)) }
        let outcome = values.withUnsafeBufferPointer { buffer in
            Result { () throws(FerryError) in try function.call(buffer, result: &result) }
        }
        try outcome.get()
        if case .argument(let index) = result.value {
            sqlResult.pass(argument: index, of: arguments)
        } else {
            sqlResult.set(result)
        }
    }

    /// SQLite's memory stays where it is until the call returns.
    private func value(_ index: Int, of arguments: borrowing FunctionArguments) -> FunctionValue {
        switch arguments.storageClass(index) {
        case .null: .null
        case .integer: .integer(arguments.integer(index))
        case .real: .real(arguments.real(index))
        case .text: .text(arguments.withBytes(index) { $0 })
        case .blob: .blob(arguments.withBytes(index) { $0 })
        }
    }
}

extension FerrySQLite.FunctionResult {
    /// Sets what a function of the expression language yielded; not one of its arguments.
    mutating func set(_ result: borrowing FerryExpression.FunctionResult) {
        switch result.value {
        case .null: setNull()
        case .integer(let integer): set(integer)
        case .real(let real): set(real)
        case .text: result.bytes.withUnsafeBytes { setText($0) }
        case .blob: result.bytes.withUnsafeBytes { setBlob($0) }
        case .borrowedText(let bytes): setText(bytes)
        case .argument: preconditionFailure("only the caller has the arguments")
        }
    }
}
