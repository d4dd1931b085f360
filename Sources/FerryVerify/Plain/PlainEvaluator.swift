package import FerryExpression

/// Why the plain evaluator has no value for an expression; never says which values were involved.
package struct PlainFailure: Error, Sendable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }
}

/// What the names in an expression stand for.
package struct PlainScope: Sendable {
    /// `$source` and `SELF`.
    package var source: PlainObject
    /// The iteration variable and its element.
    package var variable: String?
    package var element: PlainValue

    package init(source: PlainObject, variable: String? = nil, element: PlainValue = .null) {
        self.source = source
        self.variable = variable
        self.element = element
    }
}

/// Evaluates expressions and predicates on decoded values, in the most literal way.
///
/// It exists to be obviously right: nothing is translated, cached or done in advance. Verification uses it on stores,
/// property tests on values in memory.
package struct PlainEvaluator {
    package var objects: any PlainObjectSource
    /// `now()`, in seconds since 2001-01-01 UTC.
    package var now: Double
    let patterns = PlainPatterns()

    package init(objects: any PlainObjectSource, now: Double) {
        self.objects = objects
        self.now = now
    }

    /// The value of an expression.
    ///
    /// - Throws: ``PlainFailure``, or what the source of objects throws.
    package func value(of expression: Expression, in scope: PlainScope) throws -> PlainValue {
        switch expression {
        case .constant(let constant): return value(of: constant)
        case .evaluatedObject: return .object(scope.source)
        case .variable("source"): return .object(scope.source)
        case .variable(let name):
            guard name == scope.variable else { throw PlainFailure("$\(name) stands for nothing") }
            return scope.element
        case .keyPath(let base, let steps):
            return try follow(steps[...], from: try value(of: base, in: scope), depth: 0)
        case .predefined(let selector, let arguments):
            if selector == "now" { return .real(now) }
            return try PlainFunction.value(
                of: selector, arguments.map { argument in try value(of: argument, in: scope).plain })
        case .function(_, let selector, _): throw PlainFailure("\(selector) is code")
        case .json: throw PlainFailure("JSON stands outside of an iteration")
        }
    }

    private func value(of constant: Expression.Constant) -> PlainValue {
        switch constant {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .double(let value): .real(value)
        case .string(let value): .string(value)
        }
    }

    // MARK: Key paths

    private func follow(_ steps: ArraySlice<KeyPathStep>, from base: PlainValue, depth: Int) throws -> PlainValue {
        guard let step = steps.first else { return base }
        let rest = steps.dropFirst()
        guard case .key(let key) = step else { throw PlainFailure("a collection operator stands on a single value") }
        switch base {
        case .null: return .null
        case .json(let element):
            if case .object = element { return try follow(rest, from: .json(element.member(key) ?? .null), depth: depth) }
            return try follow(steps, from: base.plain, depth: depth)
        case .object(let object):
            guard objects.isRelationship(key, of: object.entity) else {
                return try follow(rest, from: try objects.value(of: key, in: object), depth: depth)
            }
            if case .collectionOperator("count")? = rest.first, rest.count == 1 {
                var count: Int64 = 0
                try objects.eachRelated(key, of: object, depth: depth) { _ in count += 1 }
                return .integer(count)
            }
            var next: [PlainObject] = []
            try objects.eachRelated(key, of: object, depth: depth) { related in
                if next.count < 2 { next.append(related) }
            }
            guard next.count < 2 else { throw PlainFailure("\(key) gives more than one object") }
            return try follow(rest, from: next.first.map { .object($0) } ?? .null, depth: depth + 1)
        case .text(let bytes):
            guard key == "length" else { throw PlainFailure("text has no key \(key)") }
            let length = String(decoding: bytes, as: UTF8.self).utf16.count
            return try follow(rest, from: .integer(Int64(length)), depth: depth)
        case .boolean, .integer, .real, .blob: throw PlainFailure("a value has no key \(key)")
        }
    }

    /// Calls the body with every source object that an expression yields, in order; an object may come twice.
    package func eachObject(
        of expression: Expression, in scope: PlainScope, _ body: (PlainObject) throws -> Void
    ) throws {
        guard case .keyPath(let base, let steps) = expression else {
            return try eachObject(try value(of: expression, in: scope), body)
        }
        guard case .object(let object) = try value(of: base, in: scope) else { return }
        try eachObject(along: steps[...], from: object, depth: 0, body)
    }

    private func eachObject(_ value: PlainValue, _ body: (PlainObject) throws -> Void) throws {
        switch value {
        case .null: return
        case .object(let object): try body(object)
        default: throw PlainFailure("a path ends at a value where objects are meant")
        }
    }

    private func eachObject(
        along steps: ArraySlice<KeyPathStep>, from object: PlainObject, depth: Int,
        _ body: (PlainObject) throws -> Void
    ) throws {
        switch steps.first {
        case nil: try body(object)
        case .key(let key):
            guard objects.isRelationship(key, of: object.entity) else {
                throw PlainFailure("\(key) is no relationship")
            }
            try objects.eachRelated(key, of: object, depth: depth) { related in
                try eachObject(along: steps.dropFirst(), from: related, depth: depth + 1, body)
            }
        case .collectionOperator(let name):
            // What these operators yield as a set is what the path yields without them.
            let flattening: Set<String> = [
                "distinctUnionOfSets", "distinctUnionOfObjects", "distinctUnionOfArrays", "unionOfObjects",
                "unionOfArrays", "unionOfSets",
            ]
            guard flattening.contains(name) else { throw PlainFailure("@\(name) yields no objects") }
            try eachObject(along: steps.dropFirst(), from: object, depth: depth, body)
        }
    }

    // MARK: Iterations

    /// Calls the body with each element of an iteration and its index.
    ///
    /// - Throws: ``PlainJSON/Invalid`` when JSON is expected and there is something else.
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
        let text: [UInt8]
        switch try value(of: document, in: scope).plain {
        case .null: return
        case .text(let bytes), .blob(let bytes): text = bytes
        default: throw PlainJSON.Invalid(offset: 0)
        }
        guard !text.isEmpty else { return }
        switch try elements(in: try PlainJSON(text), under: key) {
        case .null: return
        case .array(let elements, _):
            for element in elements {
                try body(.json(element), index)
                index += 1
            }
        default: throw PlainJSON.Invalid(offset: 0)
        }
    }

    private func elements(in document: PlainJSON, under key: String) throws -> PlainJSON {
        switch document {
        case .object: return document.member(key) ?? .null
        case .null: return .null
        default: throw PlainJSON.Invalid(offset: 0)
        }
    }
}
