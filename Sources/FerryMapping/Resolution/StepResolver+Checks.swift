internal import FerryBase
internal import FerryExpression
internal import FerryModel

/// Conditions that the models alone do not decide.
extension StepResolver {
    // MARK: Mandatory relationships

    /// Warns of mandatory relationships that an inferred mapping fills from neither side.
    ///
    /// Core Data's lightweight migration checks no relationships; the next save validates them.
    mutating func warnOfEmptyRelationships(in mappings: [ResolvedEntityMapping]) {
        for mapping in mappings where mappingModels[mapping.mappingModel].isInferred {
            for relationship in destination.model.relationships(of: mapping.destination)
            where !relationship.isOptional && !relationship.isTransient && !relationship.mayBeEmpty {
                let isSet = mapping.relationships.contains { $0.name == relationship.name }
                guard !isSet, !isSetByInverse(relationship, of: mapping, in: mappings) else { continue }
                warnings.append(
                    FerryWarning(
                        .emptyMandatoryRelationship,
                        "\(mapping.destination).\(relationship.name) is mandatory, but empty in all rows of "
                            + "\(mapping.source): the app must set it before it saves these objects.",
                        about: .init(
                            entity: mapping.destination, property: relationship.name, entityMapping: mapping.name)))
            }
        }
    }

    /// Removes the warnings of empty relationships that another mapping fills by the inverse.
    mutating func removeWarningsOfFilledRelationships(in mappings: [ResolvedEntityMapping]) {
        for (warning, name, relationship) in emptied {
            guard let mapping = mappings.first(where: { $0.name == name }),
                isSetByInverse(relationship, of: mapping, in: mappings)
            else { continue }
            warnings.removeAll { $0 == warning }
        }
    }

    private func isSetByInverse(
        _ relationship: Relationship, of mapping: ResolvedEntityMapping, in mappings: [ResolvedEntityMapping]
    ) -> Bool {
        guard let inverse = destination.model.inverse(of: relationship) else { return false }
        return mappings.contains { other in
            destination.model.isKind(other.destination, of: relationship.destinationEntity)
                && other.rule(inverse.name, to: mapping) != nil
        }
    }
}

extension StepResolver {
    /// The type of the variable of `forEach`.
    mutating func iteration(of mapping: LiveMapping) -> ExpressionScope.Iteration? {
        guard let iteration = mapping.mapping.iteration else { return nil }
        do throws(FerryError) {
            let element = try ExpressionTranslation(scope: mapping.scope).element(ofEach: iteration.elements)
            if iteration.position != nil, !iteration.elements.hasPositions {
                report(
                    .unsupported, "forEach: the elements of `\(iteration.elements)` have no positions.", mapping,
                    remedy: "Remove \"position\", or iterate over a relationship or a JSON array.")
            }
            return .init(variable: iteration.variable, element: element, position: iteration.position)
        } catch {
            reportExpression(error, "forEach", nil, in: mapping)
            // Errors about the variable itself would only follow from this one.
            return .init(variable: iteration.variable, element: .json, position: iteration.position)
        }
    }

    mutating func checkFilter(of mapping: LiveMapping) {
        guard let filter = mapping.mapping.filter else { return }
        do throws(FerryError) {
            _ = try ExpressionTranslation(scope: mapping.scope).condition(filter)
        } catch {
            reportExpression(error, "where", nil, in: mapping)
        }
    }

    mutating func check(_ expression: Expression, for attribute: Attribute, in mapping: LiveMapping) {
        do throws(FerryError) {
            _ = try ExpressionTranslation(scope: mapping.scope).value(expression, for: attribute)
        } catch {
            reportExpression(error, "attribute \"\(attribute.name)\"", attribute.name, in: mapping)
        }
    }

    func entity(of expression: Expression, in mapping: LiveMapping) throws(FerryError) -> String {
        let path = try ExpressionTranslation(scope: mapping.scope).path(toObjects: expression)
        guard case .object(let entity) = path.end else {
            preconditionFailure("A path that was checked to yield objects ends at one.")
        }
        return entity
    }

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

    /// The place of the error in the expression's text; an archived expression is shown as text.
    private func place(
        of error: FerryError, _ part: String, _ property: String?, in mapping: LiveMapping,
        _ written: EntityMapping.WrittenText?
    ) -> String? {
        guard let fault = error.cause as? ExpressionPart else { return nil }
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

extension Expression {
    /// Whether the expression yields the objects of one relationship, or the elements of a JSON array, in their order.
    fileprivate var hasPositions: Bool {
        switch self {
        case .json: true
        case .keyPath(_, let steps): steps.keys != nil
        default: false
        }
    }
}

/// Entity mappings that would make objects twice.
extension StepResolver {
    mutating func reportDoubles() {
        for (position, second) in live.enumerated() {
            for first in live[..<position] where carrySameObjects(first, second) {
                guard first.model != second.model else {
                    reportDouble(first, second)
                    continue
                }
                let (one, other) = (mappingModels[first.model], mappingModels[second.model])
                problems.append(
                    FerryError(
                        .badMapping,
                        "\(one.path): entity mapping \"\(first.mapping.name)\", and \(other.path): entity mapping "
                            + "\"\(second.mapping.name)\", both map objects of \(first.source) to "
                            + "\(first.destination): every object would be duplicated.",
                        remedy: "Leave one of the two files out; give both a \"where\" that no object meets in "
                            + "both; or, if you want two of each, name the entity mappings in \"partitions\" of "
                            + "their files.",
                        place: .init(entityMapping: second.mapping.name, entity: second.destination)))
            }
        }
    }

    /// Reports two mappings of one file that make the same object twice; different objects may be intended.
    private mutating func reportDouble(_ first: LiveMapping, _ second: LiveMapping) {
        let old = source.model.entities[second.source]
        guard
            second.destination == second.source
                || destination.model.entities[second.destination]?.renamingIdentifier == old?.renamingIdentifier
                    ?? old?.name,
            first.policy == nil, second.policy == nil
        else { return }
        let (one, other) = (first.mapping, second.mapping)
        guard
            (one.attributes, one.relationships, one.filter) != (other.attributes, other.relationships, other.filter)
                || one.isAutomatic != other.isAutomatic
        else {
            report(
                .badMapping,
                "it does the same as entity mapping \"\(one.name)\": every object of \(second.source) would be duplicated.",
                second,
                remedy: "Leave one of the two out; or, if you want two of each, name both in \"partitions\".")
            return
        }
        warnings.append(
            FerryWarning(
                .doubledObjects,
                "Entity mappings \"\(one.name)\" and \"\(other.name)\" both map objects of \(second.source) to "
                    + "\(second.destination): every object that both include is duplicated.",
                about: .init(entity: second.source, entityMapping: other.name)))
    }

    private func carrySameObjects(_ first: LiveMapping, _ second: LiveMapping) -> Bool {
        guard first.source == second.source, first.destination == second.destination,
            // Such mappings find objects instead of making them again.
            first.mapping.unique.isEmpty, second.mapping.unique.isEmpty,
            first.mapping.iteration?.elements == second.mapping.iteration?.elements
        else { return false }
        if let one = first.mapping.filter, let other = second.mapping.filter,
            one.excludes(other, where: { isSingle($0, from: first.source) })
        {
            return false
        }
        return !(isInGivenSplit(first) && isInGivenSplit(second))
    }

    private func isSingle(_ path: [String], from entity: String) -> Bool {
        var entity = entity
        for key in path.dropLast() {
            guard let relationship = source.model.relationship(key, of: entity) else {
                // An element of a composite.
                return source.model.attribute(path.joined(separator: "."), of: entity) != nil
            }
            guard !relationship.isToMany else { return false }
            entity = relationship.destinationEntity
        }
        return path.last.map { source.model.relationship($0, of: entity)?.isToMany != true } ?? false
    }

    private func isInGivenSplit(_ mapping: LiveMapping) -> Bool {
        mappingModels[mapping.model].partitions?.joined().contains(mapping.mapping.name) ?? false
    }
}

/// Policies without code, and parts that a file leaves open.
extension StepResolver {
    mutating func reportPolicy(_ policy: String, _ mapping: EntityMapping, model: Int) {
        report(
            .missingPolicy,
            "its migration policy \(policy) exists only in the app's code. The mapping model shows this of it: "
                + mapping.shown.joined(separator: "; ") + ".",
            mapping, model: model,
            remedy: """
                \(standIn(for: mapping, model: model)) Or register a migration policy in Swift under the class name \
                \(policy).
                """)
    }

    func standIn(for mapping: EntityMapping, model: Int) -> String {
        "Write a JSON mapping file with \"extends\": \"\(fileName(of: mappingModels[model].path))\" and an entity mapping "
            + "named \"\(mapping.name)\", which replaces it."
    }

    mutating func reportOpenParts(of mapping: EntityMapping, model: Int) {
        for part in mapping.unreadable where part.isOpen {
            let type = part.property.flatMap { property in
                mapping.destination.flatMap { destination.model.typeText(of: property, in: $0) }
            }
            let remedy: Remedy =
                switch part.part {
                case "the source entity": "Name the entity, or remove the entity mapping."
                case "the destination entity": "Name the entity, or write null: the objects are then lost."
                default:
                    part.property == nil
                        ? "Fill it in, or remove the line." : "Write an expression in its place, or null."
                }
            report(
                .badMapping, "\(part.part)\(type.map { ", \($0)," } ?? "") is not filled in: \(part.reason)", mapping,
                model: model, property: part.property, remedy: remedy)
        }
    }

    /// The model files of both versions; none if one is not from a model file.
    var modelFiles: [String] {
        let paths = [source, destination].flatMap { $0.parts.isEmpty ? [$0.path] : $0.parts }.map { path in
            let parent = FileLayer.parent(of: path)
            return ["xcdatamodeld", "momd"].contains(FileLayer.parts(of: parent).extension) ? parent : path
        }
        let known = ["xcdatamodeld", "momd", "xcdatamodel", "mom", "omo"]
        guard paths.allSatisfy({ known.contains(FileLayer.parts(of: $0).extension) }) else { return [] }
        return paths.distinct
    }
}
