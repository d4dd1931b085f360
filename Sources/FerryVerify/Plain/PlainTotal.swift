/// One value of many, as the definition has it.
struct PlainTotal {
    let name: String
    let comparison: PlainComparison
    private var count: Int64 = 0
    private var sum = 0.0
    private var extreme = PlainValue.null
    /// Of the standard deviation.
    private var mean = 0.0
    private var squares = 0.0
    private var numbers = 0.0
    /// Of the median.
    private var passed: Int64 = 0
    private var middle: Double?
    /// Of the mode.
    private var times: Int64 = 0

    init(name: String, comparison: PlainComparison) {
        self.name = name
        self.comparison = comparison
    }

    private func number(_ value: PlainValue) throws -> Double {
        guard let number = PlainNumber(value) else { throw PlainFailure("@\(name) needs numbers") }
        return number.real
    }

    mutating func add(_ value: PlainValue) throws {
        count += 1
        if name == "count" || value.isNull { return }
        switch name {
        case "sum", "avg": sum += try number(value)
        case "stddev":
            let number = try number(value)
            numbers += 1
            let before = number - mean
            mean += before / numbers
            squares += before * (number - mean)
        default:
            if extreme.isNull {
                extreme = value
            } else if let order = try comparison.order(value, extreme), name == "min" ? order < 0 : order > 0 {
                extreme = value
            }
        }
    }

    /// The next larger value, with how often it is there among how many.
    mutating func add(_ value: PlainValue, times: Int64, of count: Int64) throws {
        if value.isNull { return }
        let number = try number(value) + 0
        self.count = count
        if name == "mode" {
            if times > self.times { (middle, self.times) = (number, times) }
            return
        }
        // Of an odd number both places are the same one.
        for place in count % 2 == 0 ? [count / 2 - 1, count / 2] : [count / 2]
        where place >= passed && place < passed + times {
            middle = (middle ?? 0) + number
        }
        passed += times
    }

    var value: PlainValue {
        switch name {
        case "count": return .integer(count)
        case "sum": return real(sum)
        case "avg": return real(count == 0 ? 0 : sum / Double(count))
        case "stddev": return numbers == 0 ? .null : real((squares / numbers).squareRoot())
        case "mode": return middle.map(real) ?? .null
        case "median": return middle.map { real(count % 2 == 0 ? $0 / 2 : $0) } ?? .null
        default: return extreme
        }
    }

    private func real(_ value: Double) -> PlainValue { value.isNaN ? .null : .real(value) }
}

/// Values in their order, of which only so many are held at once, however many there are.
enum PlainOrder {
    private static let window = 16_384

    private enum Key: Hashable, Comparable {
        case integer(Int64)
        case real(Double)
        case bytes([UInt8])

        init?(_ value: PlainValue) throws {
            switch value {
            case .null, .json(.null): return nil
            case .boolean(let flag): self = .integer(flag ? 1 : 0)
            case .integer(let integer): self = .integer(integer)
            // A negative zero is a zero.
            case .real(let real): self = .real(real + 0)
            case .text(let bytes), .blob(let bytes): self = .bytes(bytes)
            case .object(let object): self = .integer(object.key)
            case .json: throw PlainFailure("JSON has no order")
            }
        }

        static func < (left: Key, right: Key) -> Bool {
            switch (left, right) {
            case (.integer(let left), .integer(let right)): left < right
            case (.real(let left), .real(let right)): left < right
            case (.integer(let left), .real(let right)):
                (PlainNumber.integer(left).order(to: .real(right)) ?? 0) < 0
            case (.real(let left), .integer(let right)):
                (PlainNumber.real(left).order(to: .integer(right)) ?? 0) < 0
            case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
            case (.bytes, _): false
            case (_, .bytes): true
            }
        }
    }

    /// Calls the body with each different value, the smallest first, and how often it is there; nil is left out.
    ///
    /// The walk calls what it is given with each value, and is asked again for every window of values; where it finds no
    /// collection, the result is false.
    static func eachDifferent(
        _ walk: ((PlainValue) throws -> Void) throws -> Bool, _ body: (PlainValue, Int64) throws -> Void
    ) throws -> Bool {
        var last: Key?
        while true {
            var found: [Key: (value: PlainValue, count: Int64)] = [:]
            // What is above belongs to a later window.
            var limit: Key?
            let exists = try walk { value in
                guard let key = try Key(value) else { return }
                if let last, !(last < key) { return }
                if let limit, limit < key { return }
                found[key, default: (value, 0)].count += 1
                guard found.count > 2 * window else { return }
                let kept = found.keys.sorted()[..<window]
                limit = kept[window - 1]
                found = found.filter { $0.key <= kept[window - 1] }
            }
            guard exists else { return false }
            for (key, entry) in found.sorted(by: { $0.key < $1.key }) {
                try body(entry.value, entry.count)
                last = key
            }
            if limit == nil { return true }
        }
    }
}
