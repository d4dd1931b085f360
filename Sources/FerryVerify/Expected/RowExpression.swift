internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// An expression over constants and the source row's columns, found once; values are as in ``PlainEvaluator``.
class RowExpression {
    /// - Returns: Nil if the expression needs more than the current row.
    static func make(
        _ expression: Expression, of mapping: ResolvedEntityMapping, rows: MappedSourceRows,
        in context: VerificationContext
    ) -> RowExpression? {
        switch expression {
        case .constant(let constant): return Constant(PlainEvaluator.value(ofConstant: constant))
        case .ternary(let condition, let first, let second):
            guard let condition = RowPredicate.make(condition, of: mapping, rows: rows, in: context),
                let first = make(first, of: mapping, rows: rows, in: context),
                let second = make(second, of: mapping, rows: rows, in: context)
            else { return nil }
            return Choice(condition, first, second)
        case .ifNil(let value, let substitute):
            guard let first = make(value, of: mapping, rows: rows, in: context),
                let second = make(substitute, of: mapping, rows: rows, in: context)
            else { return nil }
            return Substitution(first, second)
        case .keyPath:
            if let (column, attribute) = rows.column(along: expression, of: mapping.source) {
                return RowColumn(column, attribute)
            }
            guard let name = expression.fromSource.sourceKey,
                context.sourceModel.relationship(name, of: mapping.source) == nil,
                let attribute = context.sourceModel.attribute(name, of: mapping.source),
                attribute.type != .composite, let column = rows.column(of: name, in: mapping.source)
            else { return nil }
            return RowColumn(column, attribute)
        case .predefined(let selector, let arguments):
            if ScopedFunction(rawValue: selector) != nil || SetOperator(rawValue: selector) != nil { return nil }
            var operands: [RowExpression] = []
            for argument in arguments {
                guard let operand = make(argument, of: mapping, rows: rows, in: context) else { return nil }
                operands.append(operand)
            }
            if operands.count == 2, let operation = PlainOperator(rawValue: selector) {
                return Operation(operation, operands[0], operands[1])
            }
            if let function = PlainTypedFunction(rawValue: selector) { return TypedCall(function, operands) }
            return Call(selector, operands)
        default: return nil
        }
    }

    /// The value for a row without large values.
    func value(in row: Statement) throws -> PlainValue { preconditionFailure("each kind of expression has its own") }

    /// Whether the value is NULL; that of a value in an external file is known.
    func isNull(in row: Statement) throws -> Bool {
        do {
            return try value(in: row).plain.isNull
        } catch let failure as PlainFailure where failure == .valueInFile {
            return false
        }
    }

    private final class Constant: RowExpression {
        private let constant: PlainValue
        init(_ constant: PlainValue) { self.constant = constant }
        override func value(in row: Statement) -> PlainValue { constant }
    }

    private final class RowColumn: RowExpression {
        private let column: Int
        private let form: StoredValue.Form
        init(_ column: Int, _ attribute: Attribute) {
            (self.column, form) = (column, StoredValue.Form(attribute))
        }
        override func value(in row: Statement) throws -> PlainValue { try StoredValue.decode(row, column, as: form) }
        override func isNull(in row: Statement) -> Bool { row.isNull(column) }
    }

    private final class Choice: RowExpression {
        private let condition: RowPredicate
        private let first: RowExpression
        private let second: RowExpression
        init(_ condition: RowPredicate, _ first: RowExpression, _ second: RowExpression) {
            (self.condition, self.first, self.second) = (condition, first, second)
        }
        override func value(in row: Statement) throws -> PlainValue {
            try condition.holds(in: row) ? first.value(in: row) : second.value(in: row)
        }
    }

    private final class Substitution: RowExpression {
        private let value: RowExpression
        private let substitute: RowExpression
        init(_ value: RowExpression, _ substitute: RowExpression) {
            (self.value, self.substitute) = (value, substitute)
        }
        override func value(in row: Statement) throws -> PlainValue {
            let known = try value.value(in: row).plain
            return known.isNull ? try substitute.value(in: row) : known
        }
    }

    private final class Operation: RowExpression {
        private let operation: PlainOperator
        private let left: RowExpression
        private let right: RowExpression
        init(_ operation: PlainOperator, _ left: RowExpression, _ right: RowExpression) {
            (self.operation, self.left, self.right) = (operation, left, right)
        }
        override func value(in row: Statement) throws -> PlainValue {
            try operation.value(try left.value(in: row).plain, try right.value(in: row).plain)
        }
    }

    private final class TypedCall: RowExpression {
        private let function: PlainTypedFunction
        private let operands: [RowExpression]
        init(_ function: PlainTypedFunction, _ operands: [RowExpression]) {
            (self.function, self.operands) = (function, operands)
        }
        override func value(in row: Statement) throws -> PlainValue {
            try function.value(operands.map { try $0.value(in: row).plain })
        }
    }

    private final class Call: RowExpression {
        private let selector: String
        private let operands: [RowExpression]
        init(_ selector: String, _ operands: [RowExpression]) { (self.selector, self.operands) = (selector, operands) }
        override func value(in row: Statement) throws -> PlainValue {
            try PlainFunction.value(of: selector, operands.map { try $0.value(in: row).plain })
        }
    }
}

extension Expression {
    /// Whether the expression contains `now()`, or a random number, which depends on `now()`.
    var dependsOnTime: Bool {
        if case .predefined("now", _) = self { return true }
        if case .predefined(let selector, _) = self, selector.hasPrefix("random") { return true }
        return parts.contains(where: \.dependsOnTime)
    }
}

extension Predicate {
    var dependsOnTime: Bool { parts.contains(where: \.dependsOnTime) }
}

extension ResolvedStep {
    /// Checks that no object's existence depends on `now()`, since the run's time is not known.
    ///
    /// - Throws: `unsupported` naming the entity mapping.
    func checkNeedsNoTime() throws(FerryError) {
        for mapping in entityMappings {
            let deciding = mapping.attributes.filter { mapping.unique.contains($0.name) }
            guard
                mapping.filter?.dependsOnTime == true || mapping.iteration?.elements.dependsOnTime == true
                    || mapping.relationships.contains(where: { $0.from.dependsOnTime })
                    || deciding.contains(where: { $0.expression?.dependsOnTime == true })
            else { continue }
            throw FerryError(
                .unsupported,
                "Which objects the entity mapping \(mapping.name) creates depends on now(), and the time of the migration is not known.",
                remedy: "Verify with the store's ferry-log.json next to it.",
                place: .init(entity: mapping.destination))
        }
    }
}

/// An expression that is nothing but an attribute at the end of a path in the source.
struct SourceAttribute {
    var attribute: Attribute
    var object: Expression
    var isOwn: Bool

    init?(_ expression: Expression, _ mapping: ResolvedEntityMapping, _ model: ManagedObjectModel) {
        guard case .keyPath(let base, let steps) = expression else { return nil }
        guard var entity = SourceAttribute.entity(of: base, mapping, model) else { return nil }
        var keys: [String] = []
        for step in steps {
            guard case .key(let name) = step else { return nil }
            keys.append(name)
        }
        // Relationships first; the other keys name an attribute, or an element of a composite.
        let hops = keys.prefix { name in
            guard let relationship = model.relationship(name, of: entity) else { return false }
            entity = relationship.destinationEntity
            return true
        }
        let name = keys.dropFirst(hops.count).joined(separator: ".")
        guard let attribute = model.attribute(name, of: entity), !attribute.isTransient, attribute.type != .composite
        else { return nil }
        self.attribute = attribute
        object = hops.isEmpty ? base : .keyPath(base, Array(steps.prefix(hops.count)))
        isOwn = hops.isEmpty && (base == .variable("source") || base == .evaluatedObject)
    }

    private static func entity(
        of base: Expression, _ mapping: ResolvedEntityMapping, _ model: ManagedObjectModel
    ) -> String? {
        switch base {
        case .evaluatedObject, .variable("source"): return mapping.source
        case .variable(let name):
            guard let iteration = mapping.iteration, iteration.variable == name,
                case .keyPath(let start, let steps) = iteration.elements,
                start == .variable("source") || start == .evaluatedObject
            else { return nil }
            var entity = mapping.source
            for case .key(let name) in steps {
                guard let relationship = model.relationship(name, of: entity) else { return nil }
                entity = relationship.destinationEntity
            }
            return entity
        default: return nil
        }
    }
}
