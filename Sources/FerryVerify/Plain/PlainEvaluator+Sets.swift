internal import FerryBase
internal import FerryExpression

/// Set operations, whose members are distinct, and random numbers.
extension PlainEvaluator {
    private static let distinct: Set = ["distinctUnionOfObjects", "distinctUnionOfArrays", "distinctUnionOfSets"]
    private static let flattening: Set = ["unionOfObjects", "unionOfArrays", "unionOfSets"]

    /// A path without the operators that only flatten or unite.
    static func flattened(_ steps: [KeyPathStep]) -> [KeyPathStep] {
        steps.filter { step in
            guard case .collectionOperator(let name) = step else { return true }
            return !distinct.contains(name) && !flattening.contains(name)
        }
    }

    /// Whether equal members of an expression count once.
    func isSet(_ expression: Expression) -> Bool {
        switch expression {
        case .predefined(let selector, _): return SetOperator(rawValue: selector) != nil
        case .keyPath(let base, let steps):
            // Keys after a set yield a value for each of its members.
            let isOnlyFlattened = Self.flattened(steps).isEmpty && isSet(base)
            return isOnlyFlattened
                || steps.contains { step in
                    if case .collectionOperator(let name) = step { Self.distinct.contains(name) } else { false }
                }
        default: return false
        }
    }

    /// Calls the body with the members of a set operation; a member of both operands may recur.
    func eachMember(
        of sets: SetOperator, _ operands: [Expression], in scope: PlainScope, _ body: PlainVisitor
    ) throws -> Bool {
        let rule = PlainComparison(options: "", patterns: patterns)
        switch sets {
        case .union:
            // A union always yields a set, even an empty one.
            _ = try eachMember(of: operands[0], in: scope, body)
            _ = try eachMember(of: operands[1], in: scope, body)
            return true
        case .intersect, .minus:
            let members = PlainVisitor { member in
                if try isMember(member.plain, of: operands[1], by: rule, in: scope) == (sets == .intersect) {
                    try body(member)
                }
            }
            return try eachMember(of: operands[0], in: scope, members)
        }
    }

    /// Calls the body with each member of a set once, without nil.
    ///
    /// Members of a literal list are in list order, others in ascending order, objects by key.
    func eachOnce(
        of expression: Expression, in scope: PlainScope, _ body: PlainVisitor
    ) throws -> Bool {
        if expression.isWritten {
            let rule = PlainComparison(options: "", patterns: patterns)
            var passed: [PlainValue] = []
            let members = PlainVisitor { member in
                let value = member.plain
                let isKnown = try passed.contains { known in try rule.holds(known, .equal, value) }
                if value.isNull || isKnown { return }
                passed.append(value)
                try body(value)
            }
            return try eachMember(of: expression, in: scope, members)
        }
        return try PlainOrder.eachDifferent({ walk in
            try eachMember(of: expression, in: scope, PlainVisitor { try walk($0.plain) })
        }) { value, _ in try body(value) }
    }

    /// Calls the body with each member; members of a set once.
    func eachOnceOfSet(
        _ expression: Expression, in scope: PlainScope, _ body: PlainVisitor
    ) throws -> Bool {
        isSet(expression)
            ? try eachOnce(of: expression, in: scope, body) : try eachMember(of: expression, in: scope, body)
    }

    /// A member by its index, or the number of members.
    func place(_ index: ElementIndex, in collection: Expression, _ scope: PlainScope) throws -> PlainValue {
        var count: Int64 = 0
        var found = PlainValue.null
        let members = PlainVisitor { member in
            switch index {
            case .at(let place): if place == count { found = member }
            case .first: if count == 0 { found = member }
            case .last: found = member
            case .size: break
            }
            count += 1
        }
        let exists = try eachMember(of: collection, in: scope, members)
        if case .size = index { return exists ? .integer(count) : .null }
        return found
    }

    // MARK: Random numbers

    func randomNumber(_ selector: String, _ arguments: [Expression], in scope: PlainScope) throws -> PlainValue {
        var place: [UInt8] = []
        if case .constant(.string(let text))? = arguments.dropFirst(selector == "random" ? 0 : 1).first {
            place = Array(text.utf8)
        }
        func number(_ bits: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) } }
        func written(_ value: PlainValue) -> [UInt8] {
            switch value {
            case .null, .json(.null): [0]
            case .boolean(let flag): [1] + number(flag ? 1 : 0)
            case .integer(let integer): [1] + number(UInt64(bitPattern: integer))
            case .real(let real): [2] + number(real.bitPattern)
            case .text(let bytes), .blob(let bytes): [3] + number(UInt64(bytes.count)) + bytes
            case .object(let object): [1] + number(UInt64(bitPattern: object.key))
            case .json: written(value.plain)
            }
        }
        let element = scope.variable == nil ? PlainValue.null : scope.element
        let parts: [PlainValue] = [.real(now), .integer(scope.source.key), element, .text(place)]
        let bits = SHA256.hash(parts.flatMap(written))[..<8].reduce(UInt64(0)) { $0 * 256 + UInt64($1) }
        if selector == "random" { return .real(Double(bits / 2048) / 9_007_199_254_740_992) }
        guard let limit = arguments.first, let count = PlainNumber(try value(of: limit, in: scope).plain) else {
            return .null
        }
        guard case .integer(let many) = count, many > 0 else { throw PlainFailure("random: needs a number above 0") }
        return .integer(Int64(bits.multipliedFullWidth(by: UInt64(many)).high))
    }
}

extension Expression {
    /// Whether the expression is a literal list, or a set whose members are from literal lists.
    var isWritten: Bool {
        switch self {
        case .list: return true
        case .predefined(let selector, let operands):
            guard let sets = SetOperator(rawValue: selector), operands.count == 2 else { return false }
            return operands[0].isWritten && (sets != .union || operands[1].isWritten)
        default: return false
        }
    }
}

/// Distinct values in ascending order, of which only a limited window is in memory.
enum PlainOrder {
    private static let window = 16_384

    private enum Key: Hashable, Comparable {
        case number(PlainNumber)
        case bytes([UInt8])

        init?(_ value: PlainValue) throws {
            switch value {
            case .null, .json(.null): return nil
            case .boolean(let flag): self = .number(.integer(flag ? 1 : 0))
            case .integer(let integer): self = .number(.integer(integer))
            // -0 counts as 0.
            case .real(let real): self = .number(.real(real + 0))
            case .text(let bytes), .blob(let bytes): self = .bytes(bytes)
            case .object(let object): self = .number(.integer(object.key))
            case .json: throw PlainFailure("JSON has no order")
            }
        }

        static func < (left: Key, right: Key) -> Bool {
            switch (left, right) {
            case (.number(let left), .number(let right)): (left.order(to: right) ?? 0) < 0
            case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
            case (.bytes, .number): false
            case (.number, .bytes): true
            }
        }
    }

    /// Calls the body with each distinct value, in ascending order, and the number of its occurrences; nil is omitted.
    ///
    /// The walk runs again for every window of values. The result is false if the walk finds no collection.
    static func eachDifferent(
        _ walk: (PlainVisitor) throws -> Bool, _ body: (PlainValue, Int64) throws -> Void
    ) throws -> Bool {
        var last: Key?
        while true {
            var found: [Key: (value: PlainValue, count: Int64)] = [:]
            // Higher values belong to a later window.
            var limit: Key?
            let values = PlainVisitor { value in
                guard let key = try Key(value) else { return }
                if let last, !(last < key) { return }
                if let limit, limit < key { return }
                found[key, default: (value, 0)].count += 1
                guard found.count > 2 * window else { return }
                let kept = found.keys.sorted()[..<window]
                limit = kept[window - 1]
                found = found.filter { $0.key <= kept[window - 1] }
            }
            guard try walk(values) else { return false }
            for (key, entry) in found.sorted(by: { $0.key < $1.key }) {
                try body(entry.value, entry.count)
                last = key
            }
            if limit == nil { return true }
        }
    }
}
