internal import FerryBase
internal import FerryExpression
internal import FerryModel

extension StepResolver {
    // MARK: Iterations and filters

    /// What the variable of `forEach` stands for.
    mutating func iteration(of mapping: LiveMapping) -> ExpressionScope.Iteration? {
        guard let iteration = mapping.mapping.iteration else { return nil }
        do throws(FerryError) {
            let element: ExpressionScope.Element
            if case .json(let text, _) = iteration.elements {
                try requireText(text, in: mapping.scope)
                element = .json
            } else {
                let path = try mapping.scope.resolveObjects(iteration.elements)
                guard path.isToMany, case .object(let entity) = path.end else {
                    throw FerryError(
                        .badExpression, "`\(iteration.elements)` is to-one, where a collection is needed.",
                        remedy: "Name a to-many relationship, or JSON(…).")
                }
                element = .object(entity: entity)
            }
            return .init(variable: iteration.variable, element: element)
        } catch {
            reportExpression(error, "forEach", nil, in: mapping)
            // Complaints about the variable itself would only follow from this one.
            return .init(variable: iteration.variable, element: .json)
        }
    }

    private func requireText(_ expression: Expression, in scope: ExpressionScope) throws(FerryError) {
        if case .keyPath(let base, let steps) = expression,
            case .attribute(let attribute, _) = try scope.resolve(base, steps).end, attribute.type == .string
        { return }
        throw FerryError(
            .badExpression, "`\(expression)` is no text attribute of the source.",
            remedy: "JSON reads a string attribute, as in JSON($source.json, 'artists').")
    }

    mutating func checkFilter(of mapping: LiveMapping) {
        guard let filter = mapping.mapping.filter else { return }
        do throws(FerryError) {
            try check(filter, in: mapping.scope)
        } catch {
            reportExpression(error, "where", nil, in: mapping)
        }
    }

    private func check(_ predicate: Predicate, in scope: ExpressionScope) throws(FerryError) {
        switch predicate {
        case .constant: break
        case .comparison(let comparison):
            try check(comparison.left, in: scope)
            try check(comparison.right, in: scope)
        case .and(let operands), .or(let operands):
            for operand in operands { try check(operand, in: scope) }
        case .not(let operand): try check(operand, in: scope)
        }
    }

    // MARK: Values

    /// Checks a value expression and, where its type is known beforehand, that the attribute takes it.
    mutating func check(_ expression: Expression, for attribute: Attribute, in mapping: LiveMapping) {
        do throws(FerryError) {
            try check(expression, in: mapping.scope)
            if let type = try staticType(of: expression, in: mapping.scope), !type.converts(to: attribute.type) {
                throw FerryError(
                    .badExpression,
                    "`\(expression)` is of type \(type), but \(mapping.destination).\(attribute.name) is of type "
                        + "\(attribute.type).",
                    remedy: "Convert it in the expression, or map another attribute.")
            }
        } catch {
            reportExpression(error, "attribute \"\(attribute.name)\"", attribute.name, in: mapping)
        }
    }

    /// The type of a plain path; nil where only the evaluation tells.
    private func staticType(
        of expression: Expression, in scope: ExpressionScope
    ) throws(FerryError) -> AttributeType? {
        guard case .keyPath(let base, let steps) = expression else { return nil }
        let path = try scope.resolve(base, steps)
        guard path.valueKeys.isEmpty, case .attribute(let attribute, _) = path.end else { return nil }
        return attribute.type
    }

    private func check(_ expression: Expression, in scope: ExpressionScope) throws(FerryError) {
        switch expression {
        case .constant: break
        case .evaluatedObject, .variable: _ = try scope.resolve(expression)
        case .keyPath(let base, let steps): _ = try scope.resolve(base, steps)
        case .function(let receiver, let selector, _):
            if case .variable("entityPolicy") = receiver {
                throw FerryError(
                    .missingPolicy, "it calls \(selector) of the migration policy, which exists only in the app's code.")
            }
            throw FerryError(.unsupported, "the method \(selector) cannot be called.")
        case .predefined(_, let arguments):
            for argument in arguments { try check(argument, in: scope) }
        case .json(let text, _): try check(text, in: scope)
        }
    }

    // MARK: Reports

    /// Reports what is wrong with an expression, with the mapping and the part of it where it stands.
    mutating func reportExpression(_ error: FerryError, _ part: String, _ property: String?, in mapping: LiveMapping) {
        let remedy = error.code == .missingPolicy ? standIn(for: mapping.mapping, model: mapping.model) : error.remedy
        report(error.code, "\(part): \(error.message)", mapping, property: property, remedy: remedy)
    }
}
