package import FerryBase

/// Takes the values of a collection one after the other and makes one value of them.
///
/// It holds one value, however many there are.
package protocol Accumulator: AnyObject {
    func add(_ value: FunctionValue) throws(FerryError)
    func finish(_ result: inout FunctionResult)
}

/// A function of many values: what `@sum`, `@avg`, `@min` and `@max` stand for.
package struct AggregateFunction: Sendable {
    /// The name in SQL; begins with `ferry_`.
    package let name: String
    package let make: @Sendable () -> any Accumulator

    /// Every function, by what it is called behind `@`.
    package static let byOperator: [String: AggregateFunction] = [
        "sum": AggregateFunction(name: "ferry_total") { Total(isMean: false) },
        "avg": AggregateFunction(name: "ferry_average") { Total(isMean: true) },
        "min": AggregateFunction(name: "ferry_least") { Extreme(sign: 1) },
        "max": AggregateFunction(name: "ferry_greatest") { Extreme(sign: -1) },
    ]
}

/// The sum, or the mean, of doubles; nil counts as zero, and of nothing both are zero.
private final class Total: Accumulator {
    private let isMean: Bool
    private var sum = 0.0
    private var count = 0

    init(isMean: Bool) { self.isMean = isMean }

    func add(_ value: FunctionValue) throws(FerryError) {
        count += 1
        if let number = try value.number(isMean ? "@avg" : "@sum") { sum += number.real }
    }

    func finish(_ result: inout FunctionResult) {
        result.set(isMean ? count == 0 ? 0 : sum / Double(count) : sum)
    }
}

/// The first of the smallest, or of the largest, values; nil is none, and of nothing it is nil.
private final class Extreme: Accumulator {
    private let sign: Int
    private var value = FunctionValue.null
    private let holder = ByteHolder()

    init(sign: Int) { self.sign = sign }

    func add(_ candidate: FunctionValue) throws(FerryError) {
        if candidate.isNull { return }
        if !value.isNull, try ScalarFunction.order(candidate, value, sign > 0 ? "@min" : "@max") * sign >= 0 { return }
        value =
            switch candidate {
            case .text(let bytes): .text(holder.hold(bytes))
            case .blob(let bytes): .blob(holder.hold(bytes))
            default: candidate
            }
    }

    func finish(_ result: inout FunctionResult) {
        switch value {
        case .null: result.setNull()
        case .integer(let integer): result.set(integer)
        case .real(let real): result.set(real)
        case .text(let bytes): result.set(text: bytes)
        case .blob(let bytes): result.set(blob: bytes)
        }
    }
}

/// The same for values that stand side by side: `max({a, b})`.
extension ScalarFunction {
    static let lists: [ScalarFunction] = AggregateFunction.byOperator.map { name, function in
        ScalarFunction(listName(function), title: "@\(name)", arguments: -1) { arguments, result throws(FerryError) in
            let accumulator = function.make()
            for argument in arguments { try accumulator.add(argument) }
            accumulator.finish(&result)
        }
    }

    static func listName(_ function: AggregateFunction) -> String { function.name + "_of" }
}
