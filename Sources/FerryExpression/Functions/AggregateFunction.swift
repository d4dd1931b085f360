package import FerryBase

/// Takes the values of a collection one after the other and makes one value of them.
///
/// It holds one value, however many there are.
package protocol Accumulator: AnyObject {
    /// Takes the next value; a function of sorted ones is also told how many there are.
    func add(_ value: FunctionValue, of count: Int64) throws(FerryError)
    func finish(_ result: inout FunctionResult)
}

/// A function of many values: what `@sum`, `median:` and their kin stand for.
package struct AggregateFunction: Sendable {
    /// The name in SQL; begins with `ferry_`.
    package let name: String
    /// Whether it takes the values in their own order, nil left out, each with how many there are.
    package var isOfSorted = false
    package let make: @Sendable () -> any Accumulator

    /// Every function, by what it is called behind `@` or, with a colon, as a function.
    package static let byOperator: [String: AggregateFunction] = [
        "sum": AggregateFunction(name: "ferry_total") { Total(isMean: false) },
        "avg": AggregateFunction(name: "ferry_average") { Total(isMean: true) },
        "min": AggregateFunction(name: "ferry_least") { Extreme(sign: 1) },
        "max": AggregateFunction(name: "ferry_greatest") { Extreme(sign: -1) },
        "median": AggregateFunction(name: "ferry_median", isOfSorted: true) { Median() },
        "mode": AggregateFunction(name: "ferry_mode", isOfSorted: true) { Mode() },
        "stddev": AggregateFunction(name: "ferry_deviation") { Deviation() },
    ]

    /// What a path may have behind `@`.
    static let operators: Set = ["count", "sum", "avg", "min", "max"]
}

/// The sum, or the mean, of doubles; nil counts as zero, and of nothing both are zero.
private final class Total: Accumulator {
    private let isMean: Bool
    private var sum = 0.0
    private var count = 0

    init(isMean: Bool) { self.isMean = isMean }

    func add(_ value: FunctionValue, of _: Int64) throws(FerryError) {
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

    func add(_ candidate: FunctionValue, of _: Int64) throws(FerryError) {
        if candidate.isNull { return }
        if !value.isNull, try ScalarFunction.order(candidate, value, sign > 0 ? "@min" : "@max") * sign >= 0 { return }
        value =
            switch candidate {
            case .text(let bytes): .text(holder.hold(bytes))
            case .blob(let bytes): .blob(holder.hold(bytes))
            default: candidate
            }
    }

    func finish(_ result: inout FunctionResult) { result.set(value) }
}

/// The value in the middle of the sorted ones, or the mean of the two; of nothing it is nil.
private final class Median: Accumulator {
    private var place: Int64 = 0
    private var sum: Double?
    private var count: Int64 = 0

    func add(_ value: FunctionValue, of count: Int64) throws(FerryError) {
        guard let number = try value.number("median:") else { return }
        self.count = count
        if place == (count - 1) / 2 || place == count / 2 { sum = (sum ?? 0) + (number.real + 0) }
        place += 1
    }

    func finish(_ result: inout FunctionResult) {
        guard let sum else { return result.setNull() }
        result.set(count % 2 == 0 ? sum / 2 : sum)
    }
}

/// The value that is there most often, of several the smallest; of nothing it is nil.
private final class Mode: Accumulator {
    private var best: Double?
    private var bestCount = 0
    private var current: Double?
    private var currentCount = 0

    func add(_ value: FunctionValue, of _: Int64) throws(FerryError) {
        // A negative zero is a zero.
        guard let number = try value.number("mode:").map({ $0.real + 0 }) else { return }
        currentCount = number == current ? currentCount + 1 : 1
        current = number
        if currentCount > bestCount { (best, bestCount) = (number, currentCount) }
    }

    func finish(_ result: inout FunctionResult) {
        if let best { result.set(best) } else { result.setNull() }
    }
}

/// The standard deviation of all values, nil left out; of nothing it is nil.
///
/// By Welford's recurrence, which needs no second look at the values.
private final class Deviation: Accumulator {
    private var count = 0.0
    private var mean = 0.0
    private var squares = 0.0

    func add(_ value: FunctionValue, of _: Int64) throws(FerryError) {
        guard let number = try value.number("stddev:")?.real else { return }
        count += 1
        let difference = number - mean
        mean += difference / count
        squares += difference * (number - mean)
    }

    func finish(_ result: inout FunctionResult) {
        if count == 0 { result.setNull() } else { result.set((squares / count).squareRoot()) }
    }
}

/// The same for values that stand side by side: `max({a, b})`, and for sets made of such lists.
extension ScalarFunction {
    static let lists: [ScalarFunction] = AggregateFunction.byOperator.map { name, function in
        ScalarFunction(listName(function), title: "@\(name)", arguments: -1) { arguments, result throws(FerryError) in
            try feed(Array(arguments), to: function, "@\(name)", &result)
        }
    }

    /// Each value comes behind whether it is there.
    static let sets: [ScalarFunction] =
        [
            ScalarFunction(setName(nil), title: "@count", arguments: -1) { arguments, result throws(FerryError) in
                result.set(Int64(present(arguments).count { !$0.isNull }))
            }
        ]
        + AggregateFunction.byOperator.map { name, function in
            ScalarFunction(setName(function), title: "@\(name)", arguments: -1) {
                arguments, result throws(FerryError) in
                try feed(present(arguments).filter { !$0.isNull }, to: function, "@\(name)", &result)
            }
        }

    static func listName(_ function: AggregateFunction) -> String { function.name + "_of" }

    /// The name for sets; without a function that of how many there are.
    static func setName(_ function: AggregateFunction?) -> String { (function?.name ?? "ferry_count") + "_of_set" }

    private static func present(_ arguments: Arguments) -> [FunctionValue] {
        var values: [FunctionValue] = []
        for place in stride(from: 1, to: arguments.count, by: 2) {
            if case .integer(let flag) = arguments[place - 1], flag != 0 { values.append(arguments[place]) }
        }
        return values
    }

    private static func feed(
        _ given: [FunctionValue], to function: AggregateFunction, _ title: String, _ result: inout FunctionResult
    ) throws(FerryError) {
        var values = given
        if function.isOfSorted {
            // As many as a call has arguments.
            var numbers: [Double] = []
            for value in given { if let number = try value.number(title) { numbers.append(number.real) } }
            values = numbers.sorted().map { .real($0) }
        }
        let accumulator = function.make()
        for value in values { try accumulator.add(value, of: Int64(values.count)) }
        accumulator.finish(&result)
    }
}
