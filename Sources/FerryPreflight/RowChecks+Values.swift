package import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The values that attributes and relationships of the step's newer version need and do not get, or cannot take.
extension RowChecks {
    typealias Finding = (question: ValueChecks.Question, count: ReadValues.Count)

    private var model: ManagedObjectModel { step.resolved.destination.model }

    /// A mandatory attribute that every object gives the value of a column, which is empty in some rows.
    typealias EmptyColumn = (value: ResolvedStep.MandatoryValue, column: String, rows: Int64)

    /// The mandatory attributes that every object gives the value of a column; damage counts in scanned tables only.
    private func columns(
        of mapping: ResolvedEntityMapping
    ) -> [(value: ResolvedStep.MandatoryValue, column: String, place: TableScans.Place)] {
        // The two mappings of one with `keep` read every object; of several that become one, only the values of `unique`
        // are those of all.
        let isPair = mapping.separatedFrom == mapping.name
        guard mapping.readsEveryObject || isPair, let table = layout.table(of: mapping.source)?.name,
            let number = layout.number(of: mapping.source)
        else { return [] }
        return step.resolved.mandatoryValues(of: mapping).compactMap { value in
            guard value.wasOptional ? !isPair || mapping.unique.contains(value.destination) : scans.include(table)
            else { return nil }
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
        return emptyValue(
            "\(mapping.source).\(empty.value.source)", of: "\(mapping.destination).\(empty.value.destination)",
            rows: empty.rows, key: key,
            .init(entityMapping: mapping.name, entity: mapping.destination, property: empty.value.destination))
    }

    /// What an entity mapping finds, if it fetches no objects, beside its empty columns.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` if a filter or an iteration fails; ``DatabaseError``.
    func findings(of mapping: ResolvedEntityMapping, validity: Bool) throws -> [Finding] {
        if mapping.fetches { return validity ? try leftEmpty(of: mapping) : [] }
        var checks = try ValueChecks(of: mapping, in: layout, now: now)
        for rule in mapping.attributes {
            guard let attribute = model.attribute(rule.name, of: mapping.destination) else { continue }
            let isCounted =
                mapping.readsEveryObject && (rule.expression?.sourceKeys != nil || rule.leavesEmpty(attribute))
            try checks.ask(about: rule, attribute, emptiness: !isCounted, validity: validity)
        }
        try askAboutRelationships(of: mapping, &checks)
        if validity { try checks.askAboutFilter() }
        return try answers(of: checks)
    }

    /// The values that a mapping which fetches would leave out of all objects: only the run knows which ones it reads.
    private func leftEmpty(of mapping: ResolvedEntityMapping) throws -> [Finding] {
        let whole = mapping.with(filter: .some(nil), iteration: .some(nil))
        var checks = try ValueChecks(of: whole, in: layout, now: now)
        for rule in mapping.attributes {
            guard let expression = rule.expression, expression.mayLeaveOut,
                !expression.contains(where: { $0 == .variable(mapping.iteration?.variable ?? "") }),
                let attribute = model.attribute(rule.name, of: mapping.destination)
            else { continue }
            try checks.ask(about: rule, attribute, emptiness: false)
        }
        return try answers(of: checks).filter { $0.question.problem == .leftEmpty }
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
    func rulesOfInverse(
        of relationship: Relationship, to mapping: ResolvedEntityMapping
    ) -> [(mapping: ResolvedEntityMapping, rule: ResolvedRelationship)] {
        guard let inverse = model.inverse(of: relationship) else { return [] }
        return step.resolved.entityMappings.compactMap { other in
            guard model.isKind(other.destination, of: relationship.destinationEntity) else { return nil }
            return other.rule(inverse.name, to: mapping).map { (other, $0) }
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
    package func unfitValues() throws -> [FerryError] {
        let mappings = step.resolved.entityMappings.filter { $0.policy == nil }
        for mapping in mappings { askForRows(of: mapping) }
        let empty = try mappings.flatMap { mapping in
            try emptyColumns(of: mapping).filter(\.value.wasOptional).map { try refusal(of: $0, in: mapping) }
        }
        return try empty
            + mappings.flatMap { mapping in
                try findings(of: mapping, validity: false).compactMap { question, count in
                    isDamage(question, mapping) ? nil : refusal(of: question, count, in: mapping)
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
