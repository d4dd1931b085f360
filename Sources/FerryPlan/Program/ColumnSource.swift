package import FerryBase
package import FerryExpression
package import FerryMapping
package import FerryModel
package import FerryStore

/// The source of a destination column's values in the rows of one entity mapping.
///
/// Chunks, bound rows and statements in place share it, without reading rules, defaults or types again.
package enum ColumnSource: Sendable, Hashable {
    /// A column of the source object's row, unchanged.
    case column(String)
    /// One stored value for all rows.
    case constant(DefaultValue)
    case expression(ColumnExpression)

    /// Nil if the column stays NULL.
    package init?(
        _ rule: ResolvedAttribute, for attribute: Attribute, of mapping: ResolvedEntityMapping, in source: StoreLayout
    ) {
        guard let expression = rule.expression else {
            guard let value = rule.defaultValue(of: attribute) else { return nil }
            self = .constant(value.stored(in: attribute))
            return
        }
        // Most attributes are copied unchanged, and translating an expression is slow.
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
                    base: expression.attributeAsIs.flatMap { source.column(of: $0, in: mapping.source)?.name }))
        }
    }
}

package struct FilledColumn: Sendable, Hashable {
    package let attribute: Attribute
    package let name: String
    package let source: ColumnSource

    /// The columns of the attributes that an entity mapping sets, in rule order.
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

/// An expression that computes the values of a column.
package struct ColumnExpression: Sendable, Hashable {
    package let expression: Expression
    let attribute: Attribute
    let mapping: ResolvedEntityMapping
    let base: String?

    /// Translates the expression over the source's model into the column's stored form.
    ///
    /// - Throws: ``FerryError`` if the expression does not fit the models.
    package func computation(in model: ManagedObjectModel) throws(FerryError) -> Computation {
        try ExpressionTranslation(scope: mapping.expressionScope(in: model)).value(expression, for: attribute)
    }
}

extension DefaultValue {
    /// The value in the stored form of an attribute's column.
    package func stored(in attribute: Attribute) -> DefaultValue {
        // A BLOB in the row of an attribute with external storage begins with the byte 01.
        if attribute.allowsExternalStorage, case .blob(let bytes) = self { return .blob([1] + bytes) }
        return self
    }
}

/// A stored value that a computation passes on unchanged if it is a BLOB, so that it may be of any size.
package struct PassedValue: Sendable, Hashable {
    /// The change of the byte before a BLOB that allows external storage.
    package enum Mark: Sendable { case asStored, added, removed }

    package let path: ResolvedPath
    package fileprivate(set) var mark = Mark.asStored
}

extension Computation {
    /// The stored value that is passed on; nil if the value is computed.
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
    package func expressionScope(in model: ManagedObjectModel) -> ExpressionScope {
        ExpressionScope(
            model: model, entity: source,
            iteration: iteration.map { iteration in
                let entity = IterationPath.entity(of: self, in: model)
                return .init(
                    variable: iteration.variable, element: entity.map { .object(entity: $0) } ?? .json,
                    position: iteration.position)
            }, policyFunctions: policyFunctions)
    }
}

extension Expression {
    /// The source attribute whose value the expression is, with or without a substitute for nil.
    var attributeAsIs: String? {
        replacedNil?.value.attributeAsIs ?? sourceKeys
    }
}

/// The relationships of an iteration from `$source` to its elements.
package enum IterationPath {
    package static func relationships(of elements: Expression) -> [String]? {
        guard case .keyPath(.variable("source"), let steps) = elements.fromSource else { return nil }
        return steps.keys
    }

    /// The entity of the elements; nil without an iteration or over JSON.
    package static func entity(of mapping: ResolvedEntityMapping, in model: ManagedObjectModel) -> String? {
        guard let elements = mapping.iteration?.elements else { return nil }
        do {
            let translation = ExpressionTranslation(scope: ExpressionScope(model: model, entity: mapping.source))
            guard case .object(let entity) = try translation.element(ofEach: elements) else { return nil }
            return entity
        } catch {
            // The check of the mapping reports this error, with its place.
            return nil
        }
    }
}
