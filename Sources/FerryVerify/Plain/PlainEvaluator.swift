package import FerryExpression
internal import FerryModel

/// The reason why the plain evaluator has no value for an expression; it never contains values.
package struct PlainFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }

    /// Expressions do not read external files; only whether there is a value is known.
    static let valueInFile = PlainFailure("the value is kept in a file")
}

/// The values of the names in an expression.
package struct PlainScope: Sendable {
    /// `$source` and `SELF`.
    package var source: PlainObject
    /// The iteration variable and its element.
    package var variable: String?
    package var element: PlainValue
    /// The variable of the element's index, and that index.
    var position: (name: String, index: Int64)?
    /// The current members of nested collections, the innermost last; `SELF` is the last one without a name.
    var members: [(name: String?, value: PlainValue)] = []

    package init(source: PlainObject, variable: String? = nil, element: PlainValue = .null) {
        self.source = source
        self.variable = variable
        self.element = element
    }

    /// The value of `SELF` or of a variable; nil for a variable without a value, and for any other expression.
    func value(of name: Expression) -> PlainValue? {
        switch name {
        case .evaluatedObject: members.last { $0.name == nil }?.value ?? .object(source)
        case .variable("source"): .object(source)
        case .variable(let name):
            members.last { $0.name == name }?.value
                ?? (name == variable ? element : name == position?.name ? position.map { .integer($0.index) } : nil)
        default: nil
        }
    }
}

/// Evaluates expressions and predicates on decoded values, in the most literal way.
///
/// It must be obviously right: it translates nothing, and does nothing in advance. Verification uses it on stores,
/// property tests on values in memory.
package struct PlainEvaluator {
    package var objects: any PlainObjectSource
    /// `now()`, in seconds since 2001-01-01 UTC.
    package var now: Double
    let patterns = PlainPatterns()
    let fetches = PlainFetches()

    package init(objects: any PlainObjectSource, now: Double) {
        self.objects = objects
        self.now = now
    }

    /// The value of an expression.
    ///
    /// - Throws: ``PlainFailure``, or what the source of objects throws.
    package func value(of expression: Expression, in scope: PlainScope) throws -> PlainValue {
        switch expression {
        case .constant(let constant): return PlainEvaluator.value(ofConstant: constant)
        case .evaluatedObject, .variable:
            guard let value = scope.value(of: expression) else { throw PlainFailure("\(expression) is not bound") }
            return value
        case .keyPath(let base, let steps):
            if let value = try collected(base, steps, expression, in: scope) { return value }
            return try follow(steps[...], from: try value(of: base, in: scope))
        case .predefined(let selector, let arguments):
            if let value = try value(ofScoped: selector, arguments, in: scope) { return value }
            return try PlainFunction.value(
                of: selector, arguments.map { argument in try value(of: argument, in: scope).plain })
        case .ifNil(let first, let substitute):
            let known = try value(of: first, in: scope).plain
            return known.isNull ? try value(of: substitute, in: scope) : known
        case .function(let receiver, let selector, let arguments):
            if selector == "valueForKey:" || selector == "valueForKeyPath:",
                case .constant(.string(let path))? = arguments.first
            {
                let keys = path.split(separator: ".").map { KeyPathStep.key(String($0)) }
                return try value(of: .keyPath(receiver, keys), in: scope)
            }
            if selector == "count", arguments.isEmpty, isCollection(receiver, in: scope) {
                return try collected("count:", [receiver], in: scope)
            }
            let object = try value(of: receiver, in: scope).plain
            return try PlainMethod.value(
                of: selector, object, arguments.map { argument in try value(of: argument, in: scope).plain })
        case .ternary(let condition, let first, let second):
            return try value(of: try holds(condition, in: scope) ? first : second, in: scope)
        case .element(let list, let index): return try element(index, of: list, in: scope)
        case .list, .subquery, .fetch: throw PlainFailure("expected a value, found a collection")
        case .json(let text, let key): return try json(text, key, in: scope)
        }
    }

    static func value(ofConstant constant: Expression.Constant) -> PlainValue {
        switch constant {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .double(let value): .real(value)
        case .string(let value): .string(value)
        }
    }

    // MARK: Key paths

    func follow(_ steps: ArraySlice<KeyPathStep>, from base: PlainValue) throws -> PlainValue {
        guard let step = steps.first else { return base }
        let rest = steps.dropFirst()
        guard case .key(let key) = step else {
            throw PlainFailure("a collection operator is applied to a single value")
        }
        switch base {
        case .null: return .null
        case .json(let element):
            return try follow(rest, from: .json(element.member(key) ?? .null))
        case .object(let object):
            guard case .relationship = objects.property(key, of: object.entity) else {
                var (name, rest) = (key, rest)
                while case .composite = objects.property(name, of: object.entity), case .key(let element)? = rest.first
                {
                    name += "." + element
                    rest = rest.dropFirst()
                }
                return try follow(rest, from: try objects.value(of: name, in: object))
            }
            var next: [PlainObject] = []
            try objects.eachRelated(key, of: object) { related in
                if next.count < 2 { next.append(related) }
            }
            guard next.count < 2 else { throw PlainFailure("\(key) gives more than one object") }
            return try follow(rest, from: next.first.map { .object($0) } ?? .null)
        case .boolean, .integer, .real, .text, .blob:
            return try follow(rest, from: try PlainMethod.value(of: key, base, []))
        }
    }

    /// Calls the body with every source object that an expression yields, in order; an object may recur.
    package func eachObject(
        of expression: Expression, in scope: PlainScope, _ body: (PlainObject) throws -> Void
    ) throws {
        guard case .keyPath = expression, expression.isPath else {
            if expression.isPath || !isCollection(expression, in: scope) {
                return try eachObject(try value(of: expression, in: scope), body)
            }
            // Each object once, in key order.
            _ = try PlainOrder.eachDifferent({ walk in try eachMember(of: expression, in: scope, walk) }) { object, _ in
                try eachObject(object, body)
            }
            return
        }
        _ = try withoutActuallyEscaping(body) { body in
            try eachMember(of: expression, in: scope, PlainVisitor { try eachObject($0, body) })
        }
    }

    private func eachObject(_ value: PlainValue, _ body: (PlainObject) throws -> Void) throws {
        switch value {
        case .null: return
        case .object(let object): try body(object)
        default: throw PlainFailure("expected objects, found a value at the end of a path")
        }
    }

    // MARK: Iterations

    /// Calls the body with each element of an iteration and its index.
    ///
    /// - Throws: ``PlainJSON/Invalid`` if JSON is expected and the value is not.
    package func eachElement(
        of expression: Expression, in scope: PlainScope, _ body: (PlainValue, Int64) throws -> Void
    ) throws {
        var index: Int64 = 0
        guard case .json(let document, let key) = expression else {
            return try eachObject(of: expression, in: scope) { object in
                try body(.object(object), index)
                index += 1
            }
        }
        guard let text = try jsonText(document, in: scope, orElse: PlainJSON.Invalid(offset: 0)) else { return }
        try PlainJSONDocument(text, member: key.isEmpty ? nil : key).eachElement { element in
            try body(.json(element), index)
            index += 1
        }
    }
}
