internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Mandatory values that are empty or that a mapping does not give, and values that the next version does not take.
struct ValuesCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    func ask() { for mapping in computedMappings { input.rowChecks.askForRows(of: mapping) } }

    mutating func check() throws {
        let missing = try input.rowChecks.valuesWithoutSource()
        findings.refusals += missing.refusals
        findings.warnings += missing.warnings
        try findEmptyMandatoryValues()
        try findUnfitValues()
    }

    /// The mappings with rows to read, whose code does not decide about their values.
    private var computedMappings: [ResolvedEntityMapping] {
        step.resolved.entityMappings.filter {
            $0.policy == nil && input.rows[$0.source, default: 0] > 0 && layout.table(of: $0.source) != nil
        }
    }

    /// Finds mandatory destination attributes whose source attribute is NULL in some row.
    private mutating func findEmptyMandatoryValues() throws {
        let values = input.rowChecks
        for mapping in computedMappings {
            let empty = try values.emptyColumns(of: mapping)
            for column in empty {
                if column.value.wasOptional {
                    refuse(try values.refusal(of: column, in: mapping))
                } else {
                    treatDamage(column.value, of: mapping, rows: column.rows)
                }
            }
            let damaged = empty.filter { !$0.value.wasOptional }
            guard options.damaged == .drop, !damaged.isEmpty,
                let place = values.rows(of: mapping.source)
            else { continue }
            let count = try input.scans.rows(withoutAny: damaged.map(\.column), in: place)
            // A run in place counts the rows that it deletes.
            if !isInPlace { findings.healed.append(.init(kind: .missingValue, entity: mapping.source, rows: count)) }
            let missing = damaged.map(\.value.source).joined(separator: " or ")
            noteLoss(mapping.source, rows: count, because: "no value of \(missing)")
        }
    }

    private mutating func treatDamage(
        _ value: ResolvedStep.MandatoryValue, of mapping: ResolvedEntityMapping, rows: Int64
    ) {
        let source = "\(mapping.source).\(value.source)"
        let destination = "\(mapping.destination).\(value.destination)"
        let subject = FerryWarning.Subject(
            entity: mapping.source, property: value.source, entityMapping: mapping.name)
        let damage = "\(source) is mandatory in the store's own version, but has no value in \(rows.counting("row"))"
        // Verification knows damage of the source by its key.
        let canBeKept = mapping.keepsPrimaryKey
        switch options.damaged {
        case .keep where canBeKept:
            findings.kept.append(
                .init(kind: .missingValue, entity: mapping.source, property: value.source, rows: rows))
            warn(.damagedRows, "\(damage); \(destination) stays empty there.", about: subject)
        case .drop:
            warn(.damagedRows, "\(damage); they are left out, with the links to them.", about: subject)
        case .refuse, .keep:
            let repair = "Repair these rows with the app, give \(destination) an expression that covers this case, or "
            refuse(
                FerryError(
                    .damagedSource,
                    "\(damage), and \(destination) takes its value from it\(canBeKept ? "" : ", in objects with new keys").",
                    remedy: canBeKept
                        ? "\(repair)continue with \(setting: .damaged, .choice("keep")) or \(setting: .damaged, .choice("drop"))."
                        : "\(repair)leave them out with \(setting: .damaged, .choice("drop")).",
                    place: .init(
                        entityMapping: mapping.name, entity: mapping.destination, property: value.destination)))
        }
    }

    /// Finds values that attributes and relationships of the next version need and do not get, or cannot take.
    private mutating func findUnfitValues() throws {
        let values = input.rowChecks
        for mapping in computedMappings {
            do {
                for finding in try values.findings(of: mapping, validity: true) { treat(finding, of: mapping, values) }
            } catch let error as FerryError where error.code == .rowFailed {
                refuse(failure(error, of: mapping))
            }
        }
    }

    private mutating func treat(
        _ finding: RowChecks.Finding, of mapping: ResolvedEntityMapping, _ values: RowChecks
    ) {
        let (question, count) = finding
        if question.problem == .leftEmpty { return noteLeftEmpty(question.property, of: mapping, rows: count.rows) }
        if let value = values.damagedValue(question, mapping) {
            // Objects that are left out are counted there.
            if let table = layout.table(of: mapping.source)?.name, input.checks(table), options.damaged != .drop {
                treatDamage(value, of: mapping, rows: count.rows)
            }
            return
        }
        if let refusal = values.refusal(of: question, count, in: mapping) { refuse(refusal) }
    }

    /// Notes the loss of values that `onInvalid` leaves out.
    private mutating func noteLeftEmpty(_ attribute: String, of mapping: ResolvedEntityMapping, rows: Int64) {
        let type = step.resolved.destination.model.attribute(attribute, of: mapping.destination)?.type.sourceName
        let source = step.sourceAttribute(of: attribute, in: mapping)
        let copies = source.map { step.resolved.copies(of: $0, of: mapping, besides: attribute) } ?? .none
        if copies == .ofAll { return }
        let cause = ChainLoss.Cause.unfit("\(mapping.destination).\(attribute)\(type.map { " (\($0))" } ?? "")")
        // Of merged objects, the values of some are lost in any case.
        let isKnown = mapping.unique.isEmpty && !mapping.fetches && copies == .none
        // The parts of a mapping with `keep` are both asked about all objects.
        if !isKnown, findings.losses.contains(where: { $0.cause == cause && $0.entity == mapping.source }) { return }
        noteLoss(mapping.source, source, isKnown ? .exactly(rows) : .atMost(rows), cause)
    }

    /// The refusal of a filter or an iteration that fails.
    private func failure(_ error: FerryError, of mapping: ResolvedEntityMapping) -> FerryError {
        let part = mapping.iteration == nil ? "`where`" : "`forEach` or `where`"
        return FerryError(
            .invalidValue,
            "The \(part) of entity mapping \"\(mapping.name)\" fails. \(error.message)", remedy: error.remedy,
            place: .init(
                entityMapping: mapping.name, entity: mapping.destination, primaryKey: error.place.primaryKey))
    }
}

extension StepPlan {
    /// The only source attribute that the expression of an attribute reads; nil if it reads others.
    fileprivate func sourceAttribute(of attribute: String, in mapping: ResolvedEntityMapping) -> String? {
        var names: Set<String> = []
        func add(_ expression: Expression) {
            if let name = expression.fromSource.sourceKeys { names.insert(name) } else { expression.parts.forEach(add) }
        }
        mapping.attributes.first { $0.name == attribute }?.expression.map(add)
        let known = names.filter { resolved.source.model.attribute($0, of: mapping.source) != nil }
        return known.count == 1 ? known.first : nil
    }
}

extension ResolvedStep {
    /// The attributes of an entity mapping that may get no mandatory value, or a value that they cannot take.
    func uncertainValues(of mapping: ResolvedEntityMapping) -> [String] {
        let required = Set(values(neededBy: mapping).map(\.destination))
        return mapping.attributes.filter { rule in
            guard let attribute = destination.model.attribute(rule.name, of: mapping.destination) else { return false }
            if mayNotBeTaken(rule, by: attribute, in: mapping) { return true }
            guard !attribute.isOptional, !attribute.isDerived, !required.contains(rule.name) else { return false }
            switch rule.expression {
            case nil: return rule.leavesEmpty(attribute) && !mapping.readsEveryObject
            case .constant?: return false
            case .ifNil(_, .constant(let constant))?: return constant == .null
            case _?: return true
            }
        }.map(\.name)
    }

    /// Whether an attribute may not take a value of its expression.
    func mayNotBeTaken(
        _ rule: ResolvedAttribute, by attribute: Attribute, in mapping: ResolvedEntityMapping
    ) -> Bool {
        guard let expression = rule.expression,
            !expression.isStoredUnchanged(in: attribute, from: mapping.source, of: source.model),
            mapping.filter?.excludesInvalid(rule.name) != true
        else { return false }
        do throws(FerryError) {
            return try ExpressionTranslation(scope: mapping.expressionScope(in: source.model))
                .value(expression, for: attribute).mayFail
        } catch {
            // The plan reports the error.
            return false
        }
    }
}

extension Predicate {
    /// Whether the filter leaves out the objects whose value an attribute cannot take (`onInvalid`).
    fileprivate func excludesInvalid(_ attribute: String) -> Bool {
        parts.contains { part in
            guard case .predefined(Expression.isInvalidSelector, _) = part else { return false }
            return part.storedValue?.attribute.name == attribute
        }
    }
}
