package import FerryBase

/// Reads the values of a collection one after another and computes one value; holds one value at a time.
package protocol Accumulator: AnyObject {
    /// Reads the next value; a function of sorted values also needs their count.
    func add(_ value: FunctionValue, of count: Int64) throws(FerryError)
    func finish(_ result: inout FunctionResult)
}

/// A function of many values, such as `@sum` and `median:`.
package struct AggregateFunction: Sendable {
    /// The name in SQL; begins with `ferry_`.
    package let name: String
    /// Whether the function reads the values sorted, without nil, each with their count.
    package var isOfSorted = false
    package let make: @Sendable () -> any Accumulator

    /// All functions, by the name behind `@`; as a function the name has a colon.
    package static let byOperator: [String: AggregateFunction] = [
        "sum": AggregateFunction(name: "ferry_total") { Total(isMean: false) },
        "avg": AggregateFunction(name: "ferry_average") { Total(isMean: true) },
        "min": AggregateFunction(name: "ferry_least") { Extreme(sign: 1) },
        "max": AggregateFunction(name: "ferry_greatest") { Extreme(sign: -1) },
        "median": AggregateFunction(name: "ferry_median", isOfSorted: true) { Median() },
        "mode": AggregateFunction(name: "ferry_mode", isOfSorted: true) { Mode() },
        "stddev": AggregateFunction(name: "ferry_deviation") { Deviation() },
    ]

    static let operators: Set = ["count", "sum", "avg", "min", "max"]
}

/// The sum, or the mean, of doubles; nil counts as zero, and without values both are zero.
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

/// The first of the smallest, or of the largest, values; nil is ignored, and without values the result is nil.
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

/// The middle of the sorted values, or the mean of the two in the middle; without values nil.
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

/// The most frequent value, of several the smallest; without values nil.
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

/// The standard deviation of all values but nil, by Welford's recurrence in one pass; without values nil.
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

/// Aggregates of the arguments of one call: `max({a, b})`, and sets of such lists.
extension ScalarFunction {
    static let lists: [ScalarFunction] = AggregateFunction.byOperator.map { name, function in
        ScalarFunction(listName(function), title: "@\(name)", arguments: -1) { arguments, result throws(FerryError) in
            try feed(Array(arguments), to: function, "@\(name)", &result)
        }
    }

    /// A value that the set does not contain is nil.
    static let sets: [ScalarFunction] =
        [
            ScalarFunction(setName(nil), title: "@count", arguments: -1) { arguments, result throws(FerryError) in
                result.set(Int64(arguments.count { !$0.isNull }))
            }
        ]
        + AggregateFunction.byOperator.map { name, function in
            ScalarFunction(setName(function), title: "@\(name)", arguments: -1) {
                arguments, result throws(FerryError) in
                try feed(arguments.filter { !$0.isNull }, to: function, "@\(name)", &result)
            }
        }

    static func listName(_ function: AggregateFunction) -> String { function.name + "_of" }

    /// Returns the function's name for sets; without a function, that of the count.
    static func setName(_ function: AggregateFunction?) -> String { (function?.name ?? "ferry_count") + "_of_set" }

    private static func feed(
        _ given: [FunctionValue], to function: AggregateFunction, _ title: String, _ result: inout FunctionResult
    ) throws(FerryError) {
        var values = given
        if function.isOfSorted {
            // Sorting holds only the arguments of one call.
            var numbers: [Double] = []
            for value in given { if let number = try value.number(title) { numbers.append(number.real) } }
            values = numbers.sorted().map { .real($0) }
        }
        let accumulator = function.make()
        for value in values { try accumulator.add(value, of: Int64(values.count)) }
        accumulator.finish(&result)
    }
}
