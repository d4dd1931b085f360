internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The values that attributes and relationships of a step's newer version need and do not get, or cannot take.
struct UnfitValues {
    typealias Finding = (question: ValueChecks.Question, count: ReadValues.Count)

    /// Of the store that the step reads, as `main`, with this layout.
    let scans: TableScans
    let layout: StoreLayout
    let step: StepPlan
    let named: NamedStep
    /// Longer values are not read.
    let longestValue: Int
    /// The time for expressions that ask for it.
    let now: Double

    private var model: ManagedObjectModel { step.resolved.destination.model }

    /// A mandatory attribute that every object gives the value of a column, which is empty in some rows.
    typealias EmptyColumn = (value: ResolvedStep.MandatoryValue, column: String, rows: Int64)

    /// The mandatory attributes that every object gives the value of a column; damage counts in scanned tables only.
    private func columns(
        of mapping: ResolvedEntityMapping
    ) -> [(value: ResolvedStep.MandatoryValue, column: String, place: TableScans.Place)] {
        guard mapping.readsEveryObject, let table = layout.table(of: mapping.source)?.name,
            let number = layout.number(of: mapping.source)
        else { return [] }
        return step.resolved.mandatoryValues(of: mapping).compactMap { value in
            guard value.wasOptional || scans.include(table) else { return nil }
            return layout.column(of: value.source, in: mapping.source).map { (value, $0.name, (table, number)) }
        }
    }

    /// Says what ``emptyColumns(of:)`` will ask.
    func askForRows(of mapping: ResolvedEntityMapping) {
        for (_, column, place) in columns(of: mapping) { scans.ask(forRowsWithoutAny: [column], in: place) }
    }

    func emptyColumns(of mapping: ResolvedEntityMapping) throws -> [EmptyColumn] {
        try columns(of: mapping).compactMap { value, column, place in
            let rows = try scans.rows(withoutAny: [column], in: place)
            return rows > 0 ? (value, column, rows) : nil
        }
    }

    /// The refusal of a column that was optional.
    func refusal(of empty: EmptyColumn, in mapping: ResolvedEntityMapping) throws -> FerryError {
        let key = try layout.table(of: mapping.source).flatMap { table in
            try scans.connection.integer(
                """
                SELECT min(Z_PK) FROM \(Connection.quoted(table.name))
                WHERE Z_ENT = ? AND \(Connection.quoted(empty.column)) IS NULL
                """, [.integer(layout.number(of: mapping.source) ?? 0)])
        }
        return named.emptyValue(
            "\(mapping.source).\(empty.value.source)", of: "\(mapping.destination).\(empty.value.destination)",
            rows: empty.rows, key: key,
            .init(entityMapping: mapping.name, entity: mapping.destination, property: empty.value.destination))
    }

    /// What an entity mapping finds, if it fetches no objects, beside its empty columns.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` if a filter or an iteration fails; ``DatabaseError``.
    func findings(of mapping: ResolvedEntityMapping, validity: Bool) throws -> [Finding] {
        if mapping.fetches { return [] }
        var checks = try ValueChecks(of: mapping, in: layout, now: now)
        for rule in mapping.attributes {
            guard let attribute = model.attribute(rule.name, of: mapping.destination) else { continue }
            let isCounted =
                mapping.readsEveryObject && (rule.expression?.sourceKeys != nil || rule.leavesEmpty(attribute))
            try checks.ask(about: rule, attribute, emptiness: !isCounted, validity: validity)
        }
        try askAboutRelationships(of: mapping, &checks)
        return try answers(of: checks)
    }

    /// The answers; none if a value is too large to be read.
    func answers(of checks: ValueChecks) throws -> [Finding] {
        do {
            return try checks.findings(on: scans.connection, longestValue: longestValue)
        } catch let error as DatabaseError where error.isTooBig {
            return []
        }
    }

    /// A mapping that Core Data infers leaves such objects to the app's next save.
    private func askAboutRelationships(
        of mapping: ResolvedEntityMapping, _ checks: inout ValueChecks
    ) throws(FerryError) {
        guard !step.resolved.mappingModels[mapping.mappingModel].isInferred, mapping.unique.isEmpty else { return }
        for relationship in model.relationships(of: mapping.destination)
        where !relationship.isToMany && !relationship.isOptional && !relationship.isTransient {
            let inverses = rulesOfInverse(of: relationship, to: mapping)
            let rule =
                mapping.relationships.first { $0.name == relationship.name }
                ?? mirrored(inverses, as: relationship.name, of: mapping)
            if rule == nil, !inverses.isEmpty { continue }
            let old = rule?.isAutomatic == true ? rule?.sourceRelationship : nil
            // What the older version requires, too, is damage that stays.
            let wasMandatory = old.flatMap { layout.model.relationship($0, of: mapping.source) }?.isOptional == false
            try checks.ask(
                about: relationship.name, rule,
                to: (rule?.mappings ?? []).compactMap { step.resolved.entityMapping(named: $0) },
                linked: wasMandatory && mapping.keepsPrimaryKey)
        }
    }

    /// The rules that set a relationship from its other side, with their entity mappings.
    private func rulesOfInverse(
        of relationship: Relationship, to mapping: ResolvedEntityMapping
    ) -> [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)] {
        guard let inverse = model.inverse(of: relationship) else { return [] }
        return step.resolved.entityMappings.compactMap { other in
            other.rule(inverse.name, to: mapping).map { (other, $0) }
        }
    }

    /// The same rules as one of this side; nil if they do not follow one to-one relationship of the source objects.
    private func mirrored(
        _ rules: [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)], as name: String,
        of mapping: ResolvedEntityMapping
    ) -> ResolvedRelationship? {
        let links = rules.map { other, rule -> String? in
            guard let name = rule.sourceRelationship,
                let old = layout.model.relationship(name, of: other.source),
                let back = layout.model.inverse(of: old), !back.isToMany,
                layout.model.isKind(mapping.source, of: old.destinationEntity)
            else { return nil }
            return back.name
        }
        guard Set(links).count == 1, let link = links[0] else { return nil }
        return ResolvedRelationship(
            name: name, mappings: rules.map(\.mapping.name), from: Expression(sourceKeys: link),
            isAutomatic: rules.allSatisfy(\.rule.isAutomatic))
    }

    /// The refusals of the objects that get no mandatory value, at the beginning of a step.
    func refusals() throws -> [FerryError] {
        let mappings = step.resolved.entityMappings.filter { $0.policy == nil }
        for mapping in mappings { askForRows(of: mapping) }
        let empty = try mappings.flatMap { mapping in
            try emptyColumns(of: mapping).filter(\.value.wasOptional).map { try refusal(of: $0, in: mapping) }
        }
        return try empty
            + mappings.flatMap { mapping in
                try findings(of: mapping, validity: false).compactMap { question, count in
                    isDamage(question, mapping) ? nil : named.refusal(of: question, count, in: mapping)
                }
            }
    }

    /// Whether the older version requires the value, too.
    func isDamage(_ question: ValueChecks.Question, _ mapping: ResolvedEntityMapping) -> Bool {
        question.problem == .empty && damagedValue(question, mapping) != nil
    }

    func damagedValue(
        _ question: ValueChecks.Question, _ mapping: ResolvedEntityMapping
    ) -> ResolvedStep.MandatoryValue? {
        guard question.problem == .empty, mapping.iteration == nil, let source = question.source else { return nil }
        return step.resolved.values(neededBy: mapping).first { $0.source == source }
    }
}

extension Preflight {
    /// The mappings with rows to read, whose code does not decide about their values.
    private var computedMappings: [ResolvedEntityMapping] {
        step.resolved.entityMappings.filter {
            $0.policy == nil && planned.rows[$0.source, default: 0] > 0 && layout.table(of: $0.source) != nil
        }
    }

    var unfitValues: UnfitValues {
        UnfitValues(
            scans: planned.scans, layout: layout, step: step, named: named,
            longestValue: EngineOptions(limitsOf: configuration).wholeValueBytes, now: now)
    }

    func askForEmptyValues() { for mapping in computedMappings { unfitValues.askForRows(of: mapping) } }

    /// Finds mandatory destination attributes whose source attribute is NULL in some row.
    mutating func findEmptyMandatoryValues() throws {
        let values = unfitValues
        for mapping in computedMappings {
            let empty = try values.emptyColumns(of: mapping)
            for column in empty {
                if column.value.wasOptional {
                    refusals.append(try values.refusal(of: column, in: mapping))
                } else {
                    treatDamage(column.value, of: mapping, rows: column.rows)
                }
            }
            let damaged = empty.filter { !$0.value.wasOptional }
            guard configuration.damaged == .drop, !damaged.isEmpty,
                let place = rowChecks(planned.rows).rows(of: mapping.source)
            else {
                continue
            }
            let count = try planned.scans.rows(withoutAny: damaged.map(\.column), in: place)
            // A run in place counts the rows that it deletes.
            if !isInPlace { noteHealed(.missingValue, mapping.source, rows: count) }
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
        switch configuration.damaged {
        case .keep:
            noteKept(.missingValue, mapping.source, value.source, rows: rows)
            warn(.damagedRows, "\(damage); \(destination) stays empty there.", about: subject)
        case .drop:
            warn(.damagedRows, "\(damage); they are left out, with the links to them.", about: subject)
        case .refuse:
            refusals.append(
                FerryError(
                    .damagedSource, "\(damage), and \(destination) takes its value from it.",
                    remedy: """
                        Repair these rows with the app, give \(destination) an expression that covers this case, or continue \
                        with \(setting: .damaged, .choice("keep")) or \(setting: .damaged, .choice("drop")).
                        """,
                    place: .init(
                        entityMapping: mapping.name, entity: mapping.destination, property: value.destination)))
        }
    }

    /// Finds values that attributes and relationships of the next version need and do not get, or cannot take.
    mutating func findUnfitValues() throws {
        let values = unfitValues
        for mapping in computedMappings {
            do {
                for finding in try values.findings(of: mapping, validity: true) { treat(finding, of: mapping, values) }
            } catch let error as FerryError where error.code == .rowFailed {
                refusals.append(failure(error, of: mapping))
            }
        }
    }

    private mutating func treat(
        _ finding: UnfitValues.Finding, of mapping: ResolvedEntityMapping, _ values: UnfitValues
    ) {
        let (question, count) = finding
        if question.problem == .leftEmpty { return noteLeftEmpty(question.property, of: mapping, rows: count.rows) }
        if let value = values.damagedValue(question, mapping) {
            // Objects that are left out are counted there.
            if let table = layout.table(of: mapping.source)?.name, planned.checks(table), configuration.damaged != .drop
            {
                treatDamage(value, of: mapping, rows: count.rows)
            }
            return
        }
        if let refusal = values.named.refusal(of: question, count, in: mapping) { refusals.append(refusal) }
    }

    /// Notes the loss of values that `onInvalid` leaves out.
    private mutating func noteLeftEmpty(_ attribute: String, of mapping: ResolvedEntityMapping, rows: Int64) {
        let type = step.resolved.destination.model.attribute(attribute, of: mapping.destination)?.type.sourceName
        noteLoss(
            mapping.source, step.sourceAttribute(of: attribute, in: mapping), rows: rows,
            .unfit("\(mapping.destination).\(attribute)\(type.map { " (\($0))" } ?? "")"))
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
