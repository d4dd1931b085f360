internal import FerryExpression

/// The values of fetches that do not depend on the current object, by expression.
final class PlainFetches {
    fileprivate var values: [Expression: PlainValue] = [:]
}

/// Takes the members of a collection, one at a time.
///
/// An object: of a recursive function the compiler makes a copy for each closure that is passed through it.
final class PlainVisitor {
    private let take: (PlainValue) throws -> Void

    init(_ take: @escaping (PlainValue) throws -> Void) { self.take = take }

    func callAsFunction(_ member: PlainValue) throws { try take(member) }
}

/// Collections, one member at a time: none is held in memory.
extension PlainEvaluator {
    private static let operators: Set = ["count", "sum", "avg", "min", "max"]

    /// The place that a key of a list of texts names.
    private static func place(_ base: Expression, _ steps: [KeyPathStep]) -> ElementIndex? {
        guard case .function = base, case .key(let name)? = steps.first else { return nil }
        return ["count": .size, "firstObject": .first, "lastObject": .last][name]
    }

    /// The value of a path with a collection operator, or after a collection or a list of texts; nil for other paths.
    func collected(
        _ base: Expression, _ steps: [KeyPathStep], _ expression: Expression, in scope: PlainScope
    ) throws -> PlainValue? {
        if isCollection(base, in: scope), let index = Self.place(base, steps) {
            return try follow(steps.dropFirst(), from: try place(index, in: base, scope))
        }
        let place = steps.firstIndex { step in
            if case .collectionOperator(let name) = step { Self.operators.contains(name) } else { false }
        }
        guard let place, case .collectionOperator(let name) = steps[place] else { return nil }
        if let known = fetches.values[expression] { return known }
        let before = Array(steps[..<place])
        let after = steps[(place + 1)...].filter { $0 != .key("self") && $0 != .key("SELF") }
        let collection = before.isEmpty ? base : Expression.keyPath(base, before)
        let value = try total(name, of: collection, in: scope) { member in try follow(after[...], from: member) }
        // With a variable, the value depends on the current object.
        if case .fetch = base, !expression.contains(where: \.isVariable) { fetches.values[expression] = value }
        return value
    }

    /// The value of `count:` and similar functions, of a collection or of a list of values.
    func collected(_ selector: String, _ arguments: [Expression], in scope: PlainScope) throws -> PlainValue {
        guard arguments.count == 1 else { throw PlainFailure("\(selector) takes one collection") }
        if selector == "count:", case .list(let elements) = arguments[0] { return .integer(Int64(elements.count)) }
        let name = selector == "average:" ? "avg" : String(selector.dropLast())
        return try total(name, of: arguments[0], in: scope) { $0 }
    }

    /// The aggregate of a collection, by the definition of its function; nil if there is no collection.
    private func total(
        _ name: String, of collection: Expression, in scope: PlainScope,
        _ value: @escaping (PlainValue) throws -> PlainValue
    ) throws -> PlainValue {
        let isSet = isSet(collection) && name != "min" && name != "max"
        func walk(_ body: @escaping (PlainValue) throws -> Void) throws -> Bool {
            let members = PlainVisitor { try body(name == "count" ? $0 : value($0).plain) }
            return isSet
                ? try eachOnce(of: collection, in: scope, members) : try eachMember(of: collection, in: scope, members)
        }
        func number(_ value: PlainValue) throws -> Double {
            guard let number = PlainNumber(value) else { throw PlainFailure("@\(name) needs numbers") }
            return number.real
        }
        var count: Int64 = 0
        switch name {
        case "count": return try walk { _ in count += 1 } ? .integer(count) : .null
        case "sum", "avg":
            var sum = 0.0
            let exists = try walk {
                count += 1
                if !$0.isNull { sum += try number($0) }
            }
            return exists ? .number(name == "sum" || count == 0 ? sum : sum / Double(count)) : .null
        case "stddev":
            var (numbers, mean, squares) = (0.0, 0.0, 0.0)
            let exists = try walk {
                if $0.isNull { return }
                let number = try number($0)
                numbers += 1
                let before = number - mean
                mean += before / numbers
                squares += before * (number - mean)
            }
            return exists && numbers > 0 ? .number((squares / numbers).squareRoot()) : .null
        case "median", "mode":
            guard try walk({ if !$0.isNull { count += 1 } }) else { return .null }
            // Numbers that are the same double count as one number here.
            let numbers = { (body: PlainVisitor) in
                try walk { value in try body(PlainNumber(value).map { .real($0.real) } ?? value) }
            }
            var (found, passed, most): (Double?, Int64, Int64) = (nil, 0, 0)
            _ = try PlainOrder.eachDifferent(numbers) { value, times in
                let number = try number(value) + 0
                if name == "mode" {
                    if times > most { (found, most) = (number, times) }
                    return
                }
                // For an odd number both places are the same.
                for place in Set([(count - 1) / 2, count / 2]) where place >= passed && place < passed + times {
                    found = (found ?? 0) + number
                }
                passed += times
            }
            return found.map { .number(name == "median" && count % 2 == 0 ? $0 / 2 : $0) } ?? .null
        default:
            let comparison = PlainComparison(options: "", patterns: patterns)
            var extreme = PlainValue.null
            _ = try walk { value in
                if value.isNull { return }
                let order = extreme.isNull ? nil : try comparison.order(value, extreme)
                if extreme.isNull || order.map({ name == "min" ? $0 < 0 : $0 > 0 }) == true { extreme = value }
            }
            return extreme
        }
    }

    // MARK: Members

    func isCollection(_ expression: Expression, in scope: PlainScope) -> Bool {
        switch expression {
        case .list, .subquery, .fetch, .function(_, "componentsSeparatedByString:", _): return true
        case .predefined(let selector, _): return SetOperator(rawValue: selector) != nil
        case .keyPath(let base, let given):
            let steps = Self.flattened(given)
            guard case .object(let object)? = scope.value(of: base) else {
                return isCollection(base, in: scope) && Self.place(base, steps) == nil
            }
            var entity = object.entity
            for step in steps {
                switch step {
                case .collectionOperator(let name): if Self.operators.contains(name) { return false }
                case .key(let key):
                    guard case .relationship(let destination, let isToMany) = objects.property(key, of: entity) else {
                        return false
                    }
                    if isToMany { return true }
                    entity = destination
                }
            }
            return false
        default: return false
        }
    }

    /// Calls the body with each member of a collection, in order.
    ///
    /// - Returns: False if there is no collection, because a relationship on the path is NULL.
    func eachMember(
        of expression: Expression, in scope: PlainScope, _ body: PlainVisitor
    ) throws -> Bool {
        switch expression {
        case .list(let elements):
            for element in elements { try body(try value(of: element, in: scope)) }
            return true
        case .subquery(.fetch(let entity, let fetched), let name, let condition):
            try eachFetched(entity, fetched, of: (name, condition), in: scope, body)
            return true
        case .subquery(let collection, let name, let condition):
            let members = PlainVisitor { member in
                var inside = scope
                inside.members.append((name, member))
                if try holds(condition, in: inside) { try body(member) }
            }
            return try eachOnceOfSet(collection, in: scope, members)
        case .fetch(let entity, let condition):
            try eachFetched(entity, condition, in: scope, body)
            return true
        case .function(let receiver, "componentsSeparatedByString:", let arguments) where arguments.count == 1:
            let values = [try value(of: receiver, in: scope).plain, try value(of: arguments[0], in: scope).plain]
            guard case .text(let text) = values[0], case .text(let separator) = values[1] else {
                if values.contains(where: \.isNull) { return false }
                throw PlainFailure("only texts have parts")
            }
            try PlainText.eachPart(of: text, between: separator) { try body(.text(Array($0))) }
            return true
        case .predefined(let selector, let operands) where operands.count == 2:
            guard let sets = SetOperator(rawValue: selector) else {
                throw PlainFailure("expected a collection, found a single value")
            }
            return try eachMember(of: sets, operands, in: scope, body)
        case .keyPath(let base, let given):
            let steps = Self.flattened(given)
            if isCollection(base, in: scope) {
                let members = PlainVisitor { try body(try follow(steps[...], from: $0)) }
                return try eachOnceOfSet(base, in: scope, members)
            }
            return try eachMember(along: steps[...], from: try value(of: base, in: scope), isCollection: false, body)
        default: throw PlainFailure("expected a collection, found a single value")
        }
    }

    func eachMember(
        along steps: ArraySlice<KeyPathStep>, from value: PlainValue, isCollection: Bool,
        _ body: PlainVisitor
    ) throws -> Bool {
        guard case .key(let key)? = steps.first, case .object(let object) = value,
            case .relationship(_, let isToMany) = objects.property(key, of: object.entity)
        else {
            if !isCollection, value.isNull { return false }
            try body(try follow(steps, from: value))
            return true
        }
        let isCollection = isCollection || isToMany
        var exists = isCollection
        try objects.eachRelated(key, of: object) { related in
            let found = try eachMember(
                along: steps.dropFirst(), from: .object(related), isCollection: isCollection, body)
            exists = exists || found
        }
        return exists
    }

    // MARK: Conditions

    func holds(
        _ quantifier: Predicate.Quantifier, _ collection: Expression, _ condition: Predicate, in scope: PlainScope
    ) throws -> Bool {
        var (isAny, isAll) = (false, true)
        let members = PlainVisitor { member in
            var inside = scope
            inside.members.append(("", member))
            if try holds(condition, in: inside) { isAny = true } else { isAll = false }
        }
        try eachMember(
            of: collection, meeting: quantifier == .all ? nil : condition, as: .variable(""), in: scope, members)
        switch quantifier {
        case .any: return isAny
        case .all: return isAll
        case .none: return !isAny
        }
    }

    /// Whether a value is a member of a collection, or a text a part of another.
    func isMember(_ comparison: Predicate.Comparison, in scope: PlainScope) throws -> Bool {
        let rule = PlainComparison(options: comparison.options, patterns: patterns)
        let left = try value(of: comparison.left, in: scope).plain
        guard isCollection(comparison.right, in: scope) else {
            return try rule.holds(try value(of: comparison.right, in: scope).plain, .contains, left)
        }
        let equality = Predicate.Comparison(
            left: .variable(""), comparator: .equal, right: comparison.left, options: comparison.options)
        return try isMember(left, of: comparison.right, by: rule, meeting: .comparison(equality), in: scope)
    }

    /// Whether a value is a member of a collection; a look-up may leave out some that do not meet a condition.
    func isMember(
        _ value: PlainValue, of collection: Expression, by rule: PlainComparison, meeting condition: Predicate? = nil,
        in scope: PlainScope
    ) throws -> Bool {
        var isFound = false
        let members = PlainVisitor { if try rule.holds(value, .equal, $0.plain) { isFound = true } }
        try eachMember(of: collection, meeting: condition, as: .variable(""), in: scope, members)
        return isFound
    }

    // MARK: Lists

    func joined(_ list: Expression, _ separator: Expression, in scope: PlainScope) throws -> PlainValue {
        guard case .list(let elements) = list else { throw PlainFailure("only a list is joined") }
        guard case .text(let between) = try value(of: separator, in: scope).plain else { return .null }
        var texts: [[UInt8]] = []
        for element in elements {
            switch try value(of: element, in: scope).plain {
            case .null: break
            case .text(let text): texts.append(text)
            default: throw PlainFailure("only texts are joined")
            }
        }
        return texts.isEmpty ? .null : .text(Array(texts.joined(separator: between)))
    }

    /// The JSON document in a value; nil for nil and for whitespace.
    func jsonText(
        _ expression: Expression, in scope: PlainScope, orElse failure: @autoclosure () -> any Error
    ) throws -> PlainText? {
        let text: PlainText
        if let long = try longText(expression, in: scope) {
            text = long
        } else {
            switch try value(of: expression, in: scope).plain {
            case .null: return nil
            case .text(let bytes), .blob(let bytes): text = PlainText(bytes)
            default: throw failure()
            }
        }
        return try text.isBlank() ? nil : text
    }

    /// The stored text at the end of a path, if the source of objects gives it in pieces.
    private func longText(_ expression: Expression, in scope: PlainScope) throws -> PlainText? {
        guard case .keyPath(let base, let steps) = expression, case .key(let key)? = steps.last,
            base == .evaluatedObject || base.isVariable,
            case .object(let object) = try value(of: .keyPath(base, steps.dropLast()), in: scope)
        else { return nil }
        return try objects.longText(of: key, in: object)
    }

    func json(_ expression: Expression, _ key: String, in scope: PlainScope) throws -> PlainValue {
        guard let text = try jsonText(expression, in: scope, orElse: PlainFailure("JSON needs text")) else {
            return .null
        }
        let names = key.split(separator: ".").map(String.init)
        guard var value = try PlainJSONDocument(text, member: names.first).value else { return .null }
        for name in names.dropFirst() {
            guard let member = value.member(name) else { return .null }
            value = member
        }
        return PlainValue.json(value).plain
    }

    func element(_ index: ElementIndex, of list: Expression, in scope: PlainScope) throws -> PlainValue {
        if case .predefined("mode:", _) = list { return try value(of: list, in: scope) }
        if !list.isWritten, isCollection(list, in: scope) { return try place(index, in: list, scope) }
        guard case .list(let elements) = list else { throw PlainFailure("an index needs a list") }
        switch index {
        case .size: return .integer(Int64(elements.count))
        case .first: return try value(of: elements[0], in: scope)
        case .last: return try value(of: elements[elements.count - 1], in: scope)
        case .at(let number): return try value(of: elements[Int(number)], in: scope)
        }
    }
}

extension Expression {
    fileprivate var isVariable: Bool { if case .variable = self { true } else { false } }
}
