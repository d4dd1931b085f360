package import FerryBase
package import FerryExpression
package import FerryMapping
package import FerryModel
package import FerryStore

/// Where a column of the new store takes its values from, in the rows that one entity mapping makes.
///
/// Statements over chunks, bound rows and statements in place all begin with it: none of them looks at a rule, at a
/// default value or at the types of two attributes again.
package enum ColumnSource: Sendable, Hashable {
    /// A column of the source object's own row, as it stands there.
    case column(String)
    /// The same for all rows, as the store holds it.
    case constant(DefaultValue)
    case expression(ColumnExpression)

    /// Nil where the column stays empty.
    package init?(
        _ rule: ResolvedAttribute, for attribute: Attribute, of mapping: ResolvedEntityMapping, in source: StoreLayout
    ) {
        guard let expression = rule.expression else {
            guard let value = rule.defaultValue(of: attribute) else { return nil }
            self = .constant(value.stored(in: attribute))
            return
        }
        // By far the most are taken over as they are; translating each of them takes long.
        if let name = expression.sourceKeys, let column = source.column(of: name, in: mapping.source),
            let before = source.model.attribute(name, of: mapping.source),
            before.type.isStoredUnchanged(as: attribute.type),
            before.allowsExternalStorage == attribute.allowsExternalStorage
        {
            self = .column(column.name)
        } else {
            self = .expression(
                ColumnExpression(
                    expression: expression, attribute: attribute, mapping: mapping,
                    base: expression.plainAttribute.flatMap { source.column(of: $0, in: mapping.source)?.name }))
        }
    }
}

/// A column of the new store with its source.
package struct FilledColumn: Sendable, Hashable {
    package let attribute: Attribute
    package let name: String
    package let source: ColumnSource

    /// The columns of the attributes that an entity mapping sets, in the order of its rules.
    static func all(
        of mapping: ResolvedEntityMapping, _ source: StoreLayout, _ destination: StoreLayout
    ) throws(FerryError) -> [FilledColumn] {
        var columns: [FilledColumn] = []
        for rule in mapping.attributes {
            guard let attribute = destination.model.attribute(rule.name, of: mapping.destination),
                let column = destination.column(of: rule.name, in: mapping.destination)
            else {
                throw FerryError(
                    .internalError, "The new store has no column for \(mapping.destination).\(rule.name).")
            }
            guard let source = ColumnSource(rule, for: attribute, of: mapping, in: source) else { continue }
            columns.append(FilledColumn(attribute: attribute, name: column.name, source: source))
        }
        return columns
    }
}

/// An expression whose values come into a column.
package struct ColumnExpression: Sendable, Hashable {
    package let expression: Expression
    /// The attribute of the column.
    let attribute: Attribute
    let mapping: ResolvedEntityMapping
    let base: String?

    /// What the expression comes to over the source's model, as the column stores it.
    ///
    /// - Throws: ``FerryError`` where the expression does not fit the models.
    package func computation(in model: ManagedObjectModel) throws(FerryError) -> Computation {
        try ExpressionTranslation(scope: mapping.expressionScope(in: model)).value(expression, for: attribute)
    }
}

extension DefaultValue {
    /// The value as the column of an attribute holds it.
    package func stored(in attribute: Attribute) -> DefaultValue {
        // Contents that stand in the row of an attribute with external storage begin with 01.
        if attribute.allowsExternalStorage, case .blob(let bytes) = self { return .blob([1] + bytes) }
        return self
    }
}

extension Expression.Constant {
    /// The constant as a statement binds it; nil for nil.
    package var stored: DefaultValue? {
        switch self {
        case .null: nil
        case .boolean(let flag): .integer(flag ? 1 : 0)
        case .integer(let integer): .integer(integer)
        case .double(let double): .real(double)
        case .string(let text): .text(text)
        }
    }
}

/// A stored value that a computation passes on wherever that is a BLOB, so that it may be of any size.
package struct PassedValue: Sendable, Hashable {
    /// What becomes of the byte before the contents of a value that may be kept in a file.
    package enum Mark: Sendable { case asStored, added, removed }

    package let path: ResolvedPath
    package fileprivate(set) var mark = Mark.asStored
}

extension Computation {
    /// The stored value that is passed on; nil where a value is computed.
    package var passedValue: PassedValue? {
        switch self {
        case .column(let path): return PassedValue(path: path)
        case .operation(.ifNull, let operands): return operands[0].passedValue
        case .call(let name, let arguments) where arguments.count == 1:
            let marks: [String: PassedValue.Mark] = [
                ScalarFunction.toExternalName: .added, ScalarFunction.fromExternalName: .removed,
            ]
            guard let mark = marks[name], var value = arguments[0].passedValue, value.mark == .asStored else {
                return nil
            }
            value.mark = mark
            return value
        default: return nil
        }
    }
}

extension ResolvedEntityMapping {
    /// What the names in the mapping's expressions stand for.
    package func expressionScope(in model: ManagedObjectModel) -> ExpressionScope {
        ExpressionScope(
            model: model, entity: source,
            iteration: iteration.map { iteration in
                let entity = IterationPath.entity(of: self, in: model)
                return .init(variable: iteration.variable, element: entity.map { .object(entity: $0) } ?? .json)
            }, policyFunctions: policyFunctions)
    }
}

extension Expression {
    /// The attribute of the source object that the whole expression is about; nil when it is several.
    fileprivate var plainAttribute: String? {
        ifNil?.value.plainAttribute ?? sourceKeys
    }
}

/// The relationships that an iteration follows from `$source`, the last of which gives the elements.
package enum IterationPath {
    package static func relationships(of elements: Expression) -> [String]? {
        guard case .keyPath(let base, let steps) = elements else { return nil }
        switch base {
        case .variable("source"), .evaluatedObject: break
        default: return nil
        }
        var names: [String] = []
        for case .key(let name) in steps { names.append(name) }
        return names.count == steps.count ? names : nil
    }

    /// The entity of the elements, or nil when the mapping iterates over nothing or over JSON.
    package static func entity(of mapping: ResolvedEntityMapping, in model: ManagedObjectModel) -> String? {
        guard let elements = mapping.iteration?.elements else { return nil }
        do {
            let translation = ExpressionTranslation(scope: ExpressionScope(model: model, entity: mapping.source))
            guard case .object(let entity) = try translation.element(ofEach: elements) else { return nil }
            return entity
        } catch {
            // The mapping's check refused it, with its place.
            return nil
        }
    }
}
