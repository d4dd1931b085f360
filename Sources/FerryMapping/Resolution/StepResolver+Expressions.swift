internal import FerryBase
internal import FerryExpression
internal import FerryModel

extension StepResolver {
    /// What the variable of `forEach` stands for.
    mutating func iteration(of mapping: LiveMapping) -> ExpressionScope.Iteration? {
        guard let iteration = mapping.mapping.iteration else { return nil }
        do throws(FerryError) {
            let element = try ExpressionChecker(scope: mapping.scope).checkElements(iteration.elements)
            return .init(variable: iteration.variable, element: element)
        } catch {
            reportExpression(error, "forEach", nil, in: mapping)
            // Complaints about the variable itself would only follow from this one.
            return .init(variable: iteration.variable, element: .json)
        }
    }

    mutating func checkFilter(of mapping: LiveMapping) {
        guard let filter = mapping.mapping.filter else { return }
        do throws(FerryError) {
            try ExpressionChecker(scope: mapping.scope).check(filter)
        } catch {
            reportExpression(error, "where", nil, in: mapping)
        }
    }

    /// Checks a value expression and that the attribute can take its values.
    mutating func check(_ expression: Expression, for attribute: Attribute, in mapping: LiveMapping) {
        do throws(FerryError) {
            try ExpressionChecker(scope: mapping.scope).check(expression, for: attribute)
        } catch {
            reportExpression(error, "attribute \"\(attribute.name)\"", attribute.name, in: mapping)
        }
    }

    /// The entity of the source objects that an expression yields.
    func entity(of expression: Expression, in mapping: LiveMapping) throws(FerryError) -> String {
        let path = try ExpressionChecker(scope: mapping.scope).checkObjects(expression)
        guard case .object(let entity) = path.end else {
            preconditionFailure("A path that was checked to yield objects ends at one.")
        }
        return entity
    }

    /// Reports what is wrong with an expression, with the mapping and the part of it where it stands.
    mutating func reportExpression(_ error: FerryError, _ part: String, _ property: String?, in mapping: LiveMapping) {
        let lacksPolicy = error.code == .missingPolicy && mapping.policy == nil
        let remedy = lacksPolicy ? Remedy(standIn(for: mapping.mapping, model: mapping.model)) : error.remedy
        let written = mapping.mapping.texts[part]
        var message = error.message
        if let place = place(of: error, part, property, in: mapping, written) {
            message = message.hasSuffix(".") ? "\(message.dropLast()) (\(place))." : "\(message) (\(place))"
        }
        report(
            error.code, "\(part): \(message)", mapping, property: property, line: written?.line, remedy: remedy)
    }

    /// Where in its text the wrong part of an expression stands; an archived one is shown as text.
    private func place(
        of error: FerryError, _ part: String, _ property: String?, in mapping: LiveMapping,
        _ written: EntityMapping.WrittenText?
    ) -> String? {
        guard let fault = error.cause as? ExpressionFault else { return nil }
        let text: String
        switch (written, part, property) {
        case (let written?, _, _): text = written.text
        case (nil, "where", _): text = mapping.mapping.filter?.description ?? ""
        case (nil, _, let property?):
            switch (mapping.mapping.attributes[property], mapping.mapping.relationships[property]) {
            case (.value(let expression)?, _): text = expression.description
            case (_, .destinations(_, let from)?), (_, .destinationsOfAnyMapping(let from)?): text = from.description
            default: return nil
            }
        default: return nil
        }
        guard let place = fault.place(in: text, key: error.place.property) else { return nil }
        let shown = text.count > 200 ? text.prefix(200) + "…" : text[...]
        return "line \(place.line), column \(place.column) of `\(shown)`"
    }
}
