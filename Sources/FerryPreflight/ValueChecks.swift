internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Questions to the store about the values that one entity mapping computes, answered by one scan.
struct ValueChecks {
    enum Problem {
        /// A mandatory attribute gets no value from its expression.
        case empty
        /// A mandatory attribute has no expression.
        case unset
        /// A mandatory relationship gets no object.
        case unrelated
        /// The attribute cannot take the value, which stops the run.
        case invalid
        /// The attribute cannot take the value, and `onInvalid` leaves it empty.
        case leftEmpty
    }

    struct Question {
        var property: String
        var problem: Problem
        /// The source attribute that is the whole expression.
        var source: String?
    }

    private let mapping: ResolvedEntityMapping
    private let layout: StoreLayout
    private var values: ReadValues
    private var questions: [Question] = []

    /// The mapping reads the store with this layout.
    init(of mapping: ResolvedEntityMapping, in layout: StoreLayout, now: Double) throws(FerryError) {
        (self.mapping, self.layout) = (mapping, layout)
        values = try ReadValues(of: mapping, in: layout, now: now)
    }

    /// Asks about an attribute of the destination.
    ///
    /// Of an attribute that does not tell objects apart by `unique` it is asked only which values are left empty: one of
    /// several equal objects gives its own.
    mutating func ask(
        about rule: ResolvedAttribute, _ attribute: Attribute, emptiness: Bool, validity: Bool = true
    ) throws(FerryError) {
        if rule.leavesEmpty(attribute) {
            guard emptiness, !attribute.isOptional, !attribute.isDerived else { return }
            try values.add(.empty, of: .parameter(.constant(.null)))
            return questions.append(Question(property: rule.name, problem: .unset))
        }
        guard let expression = rule.expression, !expression.fetches else { return }
        let isOfEach = mapping.isGivenByEach(rule.name)
        let asksForNil = isOfEach && emptiness && !attribute.isOptional
        if !asksForNil, expression.isStoredUnchanged(in: attribute, from: mapping.source, of: layout.model) { return }
        let computation = try ExpressionTranslation(scope: mapping.expressionScope(in: layout.model))
            .value(expression, for: attribute)
        // External files are not read, and code is not called.
        guard !computation.callsPolicy, !computation.calls(ScalarFunction.fromExternalName) else { return }
        func add(_ problem: Problem, _ asked: ReadValues.Problem, _ computation: Computation) throws(FerryError) {
            try values.add(asked, of: computation)
            questions.append(Question(property: rule.name, problem: problem, source: expression.sourceKeys))
        }
        if asksForNil { try add(.empty, .empty, computation) }
        guard validity else { return }
        if isOfEach, computation.mayFail { try add(.invalid, .invalid, computation) }
        if case .operation(.orNil, let operands) = computation, operands[0].mayFail {
            try add(.leftEmpty, .invalid, operands[0])
        }
    }

    /// Asks whether the mapping's filter fails on an object.
    mutating func askAboutFilter() throws(FerryError) {
        guard let filter = mapping.filter else { return }
        let value = Expression.ternary(filter, .constant(.boolean(true)), .constant(.boolean(false)))
        let computation = try ExpressionTranslation(scope: mapping.expressionScope(in: layout.model)).value(value)
            .computation
        guard computation.mayFail, !computation.callsPolicy else { return }
        values.addNone()
        questions.append(Question(property: "", problem: .unset))
    }

    /// Asks which objects get no object of a to-one relationship; without a rule, all.
    mutating func ask(
        about relationship: String, _ rule: ResolvedRelationship?, to targets: [ResolvedEntityMapping], linked: Bool
    ) throws(FerryError) {
        guard !targets.contains(where: \.fetches), try values.addUnrelated(by: rule, to: targets, linked: linked) else {
            return
        }
        questions.append(Question(property: relationship, problem: .unrelated))
    }

    /// The questions with an object among their answers.
    ///
    /// - Throws: ``FerryError`` `.rowFailed` if a filter or an iteration fails; ``DatabaseError``.
    func findings(
        on connection: Connection, longestValue: Int
    ) throws -> [(question: Question, count: ReadValues.Count)] {
        let counts = try values.counts(on: connection, longestValue: longestValue)
        return zip(questions, counts).filter { $0.1.rows > 0 }.map { ($0.0, $0.1) }
    }
}

extension ResolvedEntityMapping {
    /// Whether a fetch decides which objects or elements the mapping reads.
    var fetches: Bool { (filter?.parts ?? []).contains(where: \.fetches) || iteration?.elements.fetches == true }
}

extension Expression {
    /// Whether the expression fetches objects: only the run makes indexes for that, without which each object would read
    /// all of them.
    var fetches: Bool { contains { if case .fetch = $0 { true } else { false } } }

    /// Whether an attribute stores every value of the source attribute that is the expression; translating is slower.
    func isStoredUnchanged(
        in attribute: Attribute, from entity: String, of model: ManagedObjectModel
    ) -> Bool {
        guard let name = sourceKey, let old = model.attribute(name, of: entity) else { return false }
        return old.type.isStoredUnchanged(as: attribute.type)
    }
}

extension RowChecks {
    private var version: String { step.versions.last ?? step.resolved.destination.name }

    /// The refusal of what a question found; nil for what does not stop the run.
    func refusal(
        of question: ValueChecks.Question, _ count: ReadValues.Count, in mapping: ResolvedEntityMapping
    ) -> FerryError? {
        let property = "\(mapping.destination).\(question.property)"
        let place = FerryError.Place(
            entityMapping: mapping.name, entity: mapping.destination, property: question.property,
            primaryKey: count.keys.first)
        let objects =
            "\(count.rows.counting(mapping.iteration == nil ? "object" : "element")) of \(mapping.source)\(count.example)"
        switch question.problem {
        case .leftEmpty: return nil
        case .empty:
            if let source = question.source, mapping.iteration == nil {
                return emptyValue(
                    "\(mapping.source).\(source)", of: property, rows: count.rows, key: count.keys.first, place)
            }
            return FerryError(
                .mandatoryValue,
                "\(property) is mandatory in version \(version)\(self.place), but its expression has no value for \(objects).",
                remedy: "Give \(property) an expression that covers this case, or make it optional in the model.",
                place: place)
        case .unset:
            return FerryError(
                .mandatoryValue,
                "Entity mapping \"\(mapping.name)\" does not set \(property), which is mandatory in version "
                    + "\(version)\(self.place) and has no default value, for \(objects).",
                remedy: "Give it an expression in a mapping model, or a default value in the model.", place: place)
        case .unrelated:
            return FerryError(
                .mandatoryValue,
                "\(property) is mandatory in version \(version)\(self.place), but would be empty for \(objects).",
                remedy: """
                    Leave these objects out with a `where`, relate them by another rule, or make \(property) optional in \
                    the model.
                    """, place: place)
        case .invalid:
            return FerryError(
                .invalidValue,
                "\(property) of version \(version)\(self.place) cannot take the values of \(objects)"
                    + (count.reason.map { ": \($0)" } ?? "."),
                remedy: """
                    Correct them with the app, or give \(property) an expression that covers them, or "onInvalid": "null" \
                    (the value is left empty) or "skip" (the object is left out) in a mapping file.
                    """, place: place)
        }
    }

    /// The refusal of rows in which the source of a mandatory attribute is empty.
    func emptyValue(
        _ source: String, of property: String, rows: Int64, key: Int64?, _ place: FerryError.Place
    ) -> FerryError {
        var place = place
        place.primaryKey = key
        return FerryError(
            .mandatoryValue,
            "\(source) has no value in \(rows.counting("row"))\(key.map { " (such as key \($0))" } ?? ""), and "
                + "\(property), which takes its value from it, is mandatory in version \(version)\(self.place).",
            remedy: "Give \(property) an expression that covers this case, or make it optional in the model.",
            place: place)
    }
}

extension ReadValues.Count {
    /// The keys of up to three objects, in parentheses.
    var example: String {
        guard let first = keys.first else { return "" }
        if rows == 1 { return " (key \(first))" }
        let list = keys.map { "\($0)" }.joined(separator: ", ")
        return " (keys \(list)\(rows > keys.count ? ", …" : ""))"
    }
}
