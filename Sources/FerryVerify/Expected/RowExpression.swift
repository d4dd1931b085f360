internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// An expression over constants and the source row's columns, found once; values are as in ``PlainEvaluator``.
struct RowExpression {
    /// The value for a row without large values.
    let value: (Statement) throws -> PlainValue
    /// The column, if the expression is nothing else: a test for NULL does not decode it.
    private var column: Int?

    private init(_ value: @escaping (Statement) throws -> PlainValue) { self.value = value }

    private init(column: Int, _ attribute: Attribute) {
        let form = StoredValue.Form(attribute)
        value = { row in try StoredValue.decode(row, column, as: form) }
        self.column = column
    }

    /// - Returns: Nil if the expression needs more than the current row.
    static func make(
        _ expression: Expression, of mapping: ResolvedEntityMapping, rows: MappedSourceRows,
        in context: VerificationContext
    ) -> RowExpression? {
        switch expression {
        case .constant(let constant):
            let value = PlainEvaluator.value(ofConstant: constant)
            return RowExpression { _ in value }
        case .ternary(let condition, let first, let second):
            guard let condition = RowPredicate.make(condition, of: mapping, rows: rows, in: context),
                let first = make(first, of: mapping, rows: rows, in: context),
                let second = make(second, of: mapping, rows: rows, in: context)
            else { return nil }
            return RowExpression { row in try condition.holds(row) ? first.value(row) : second.value(row) }
        case .ifNil(let value, let substitute):
            guard let first = make(value, of: mapping, rows: rows, in: context),
                let second = make(substitute, of: mapping, rows: rows, in: context)
            else { return nil }
            return RowExpression { row in
                let known = try first.value(row).plain
                return known.isNull ? try second.value(row) : known
            }
        case .keyPath:
            if let (column, attribute) = rows.column(along: expression, of: mapping.source) {
                return RowExpression(column: column, attribute)
            }
            guard let name = expression.fromSource.sourceKey,
                context.sourceModel.relationship(name, of: mapping.source) == nil,
                let attribute = context.sourceModel.attribute(name, of: mapping.source),
                attribute.type != .composite, let column = rows.column(of: name, in: mapping.source)
            else { return nil }
            return RowExpression(column: column, attribute)
        case .function(let receiver, let selector, let arguments):
            if selector == "valueForKey:" || selector == "valueForKeyPath:" { return nil }
            let operands = arguments.compactMap { make($0, of: mapping, rows: rows, in: context) }
            guard operands.count == arguments.count, let object = make(receiver, of: mapping, rows: rows, in: context)
            else { return nil }
            return RowExpression { row in
                try PlainMethod.value(of: selector, object.value(row).plain, operands.map { try $0.value(row).plain })
            }
        case .predefined(let selector, let arguments):
            guard let function = PlainFunction.named(selector, operands: arguments.count) else { return nil }
            let operands = arguments.compactMap { make($0, of: mapping, rows: rows, in: context) }
            guard operands.count == arguments.count else { return nil }
            if operands.count == 2, let operation = PlainOperator.all[selector] {
                let (left, right) = (operands[0], operands[1])
                return RowExpression { row in try operation.value(left.value(row).plain, right.value(row).plain) }
            }
            return RowExpression { row in try function(operands.map { try $0.value(row).plain }) }
        default: return nil
        }
    }

    /// Whether the value is NULL; that of a value in an external file is known.
    func isNull(in row: Statement) throws -> Bool {
        if let column { return row.isNull(column) }
        do {
            return try value(row).plain.isNull
        } catch let failure as PlainFailure where failure == .valueInFile {
            return false
        }
    }
}

extension Expression {
    /// Whether the expression contains `now()`, or a random number, which depends on `now()`.
    var dependsOnTime: Bool {
        contains { if case .predefined(let name, _) = $0 { name == "now" || name.hasPrefix("random") } else { false } }
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
        guard case .keyPath(let base, let steps) = expression, let keys = steps.keys,
            var entity = SourceAttribute.entity(of: base, mapping, model)
        else { return nil }
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
