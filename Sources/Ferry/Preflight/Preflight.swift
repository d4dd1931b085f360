internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// The scans of a store that show, before anything is written, that a migration would fail on its rows.
struct Preflight {
    let store: OpenedStore
    let layout: StoreLayout
    /// Rows of exactly each entity, counted.
    let rows: [String: Int64]
    /// The step that reads the store; what later steps read does not exist yet.
    let step: StepPlan
    let configuration: Configuration
    /// Whether the run writes rows; where it does not, what is wrong with them is no concern of it.
    var writesRows = true
    /// What does not fit in the store's pages, where that was looked for already.
    var damagedPages: [String]?
    /// What was found on the way over the store's pages, where they were walked over.
    var walk: PageWalk?
    /// Tables that hold no row of an unknown entity, as the count has shown.
    var soundTables: Set<String> = []
    /// Whether a copy comes later, which heals what the first step leaves as it is, and cannot take everything along.
    let isCopiedLater: Bool
    /// What the step does where it is one in place.
    let statements: StatementsInPlace

    /// Nil when there is nothing to do.
    init?(
        _ plan: MigrationPlan, store: OpenedStore, layout: StoreLayout, rows: [String: Int64],
        statements: StatementsInPlace?, configuration: Configuration
    ) {
        guard let first = plan.steps.first, let statements else { return nil }
        self.store = store
        self.layout = layout
        self.rows = rows
        self.configuration = configuration
        step = first
        isCopiedLater = first.mode == .inPlace && !plan.isInPlace
        self.statements = statements
    }

    /// What becomes of the things that the store's model does not explain.
    var appObjects: AppObjectsPreflight {
        AppObjectsPreflight(
            store: store, layout: layout, step: step, dropping: Set(configuration.dropUnknown),
            isCopiedLater: isCopiedLater, statements: statements)
    }

    var isInPlace: Bool { step.mode == .inPlace }

    /// Everything that stands in the way, and what the run and its report must know.
    func check() throws -> (refusals: [FerryError], findings: Findings) {
        do {
            var outcome = PreflightOutcome()
            if writesRows, try !findDamagedPages(&outcome) { return (outcome.refusals, outcome.findings) }
            let checks = RowChecks(
                connection: store.sourceGuard.connection, layout: layout, rows: rows, step: step, walk: walk)
            let values = checks.valuesWithoutSource()
            outcome.refusals += values.refusals
            outcome.findings.warnings += values.warnings
            try findEmptyMandatoryValues(checks, &outcome)
            outcome.refusals += try checks.valuesMissingOnTheWay()
            try appObjects.check(&outcome)
            outcome.refusals += try checks.rowsOfAbstractEntities() + checks.duplicates()
            outcome.findings.warnings += try emptyMandatoryRelationships()
            if writesRows { try findDamage(&outcome) }
            if let refusal = configuration.refusal(of: outcome.losses) { outcome.refusals.append(refusal) }
            outcome.findings.losses = outcome.losses.map(Loss.init)
            return (outcome.refusals, outcome.findings)
        } catch {
            throw FerryError.beforeRun(error, on: store.path)
        }
    }

    // MARK: Mandatory values

    /// Mandatory destination attributes that are filled from a source attribute which is NULL in some row.
    private func findEmptyMandatoryValues(_ checks: RowChecks, _ outcome: inout PreflightOutcome) throws {
        for mapping in step.resolved.entityMappings where mapping.readsEveryObject {
            guard rows[mapping.source, default: 0] > 0, let table = layout.table(of: mapping.source),
                let number = layout.number(of: mapping.source)
            else { continue }
            let asked = step.resolved.mandatoryValues(of: mapping).filter { writesRows || $0.wasOptional }
            let values = asked.compactMap { value in
                layout.column(of: value.source, in: mapping.source).map { (value: value, column: $0.name) }
            }
            guard !values.isEmpty else { continue }
            let damaged = values.indices.filter { !values[$0].value.wasOptional }
            let counts = try checks.emptyRows(values.map(\.column), damaged, of: number, in: table.name)
            for (value, count) in zip(values, counts) where count > 0 {
                treat(value.value, of: mapping, rows: count, &outcome)
            }
            // In place the run itself counts what it deletes.
            if let count = counts.last, count > 0, configuration.damaged == .drop, !isInPlace {
                outcome.healed(.missingValue, mapping.source, rows: count)
            }
            if let count = counts.last, count > 0, configuration.damaged == .drop {
                let missing = zip(values, counts).filter { !$0.0.value.wasOptional && $0.1 > 0 }.map(\.0.value.source)
                outcome.lost(
                    mapping.source, nil, rows: count, step, "no value of \(missing.joined(separator: " or "))")
            }
        }
    }

    private func treat(
        _ value: ResolvedStep.MandatoryValue, of mapping: ResolvedEntityMapping, rows: Int64,
        _ outcome: inout PreflightOutcome
    ) {
        let place = FerryError.Place(
            entityMapping: mapping.name, entity: mapping.destination, property: value.destination)
        let source = "\(mapping.source).\(value.source)"
        let destination = "\(mapping.destination).\(value.destination)"
        guard !value.wasOptional else {
            outcome.refusals.append(value.problem(in: mapping, rows: rows))
            return
        }
        let subject = FerryWarning.Subject(
            entity: mapping.source, property: value.source, entityMapping: mapping.name)
        let damage = "\(source) is mandatory in the store's own version, but has no value in \(rows.counting("row"))"
        switch configuration.damaged {
        case .keep:
            outcome.kept(.missingValue, mapping.source, value.source, rows: rows)
            outcome.findings.warnings.append(
                FerryWarning(.damagedRows, "\(damage); \(destination) stays empty there.", about: subject))
        case .drop:
            outcome.findings.warnings.append(
                FerryWarning(.damagedRows, "\(damage); they are left out, with the links to them.", about: subject))
        case .refuse:
            outcome.refusals.append(
                FerryError(
                    .damagedSource, "\(damage), and \(destination) is filled from it.",
                    remedy: """
                        Repair these rows with the app, give \(destination) an expression that stands in, or go on \
                        with \(setting: .damaged, .choice("keep")) or \(setting: .damaged, .choice("drop")).
                        """, place: place))
        }
    }
}

/// What preflight gathers.
struct PreflightOutcome {
    var refusals: [FerryError] = []
    var findings = Findings()
    /// What damage takes away where it is left out.
    var losses: [ChainLoss] = []

    /// - Parameters:
    ///   - entity: What is lost, as in ``ChainLoss``.
    ///   - property: Nil when it is whole objects.
    ///   - rows: How many; nil where nothing can count them.
    ///   - step: The step that leaves them out.
    ///   - what: What is wrong with them.
    mutating func lost(_ entity: String, _ property: String?, rows: Int64?, _ step: StepPlan, _ what: String) {
        losses.append(
            ChainLoss(
                entity: entity, property: property, entities: [entity],
                version: step.versions.last ?? step.resolved.destination.name, step: 1, cause: .damaged(what),
                count: rows.map { .exactly($0) } ?? .unknown))
    }

    mutating func healed(_ kind: StoreDamage.Kind, _ entity: String, rows: Int64) {
        findings.healed.append(.init(step: 1, kind: DamageKind(kind), entity: entity, rows: rows))
    }

    mutating func kept(_ damage: StoreDamage) {
        kept(damage.kind, damage.entity, damage.property, rows: damage.rows)
    }

    mutating func kept(_ kind: StoreDamage.Kind, _ entity: String, _ property: String?, rows: Int64) {
        findings.kept.append(.init(kind: DamageKind(kind), entity: entity, property: property, rows: rows))
    }
}

extension DamageKind {
    /// The kind in the words of the library; ``StoreDamage/Kind`` has the same.
    init(_ kind: StoreDamage.Kind) { self.init(rawValue: kind.rawValue) }
}

/// What preflight has found in a store: the run needs some of it, and the final report tells all of it.
package struct Findings: Codable, Sendable {
    /// Everything that is wrong with the store.
    var damage: [StoreDamage] = []
    /// What becomes of it, as far as the run's steps do not count it themselves.
    var healed: [MigrationReport.Healed] = []
    var kept: [MigrationReport.Kept] = []
    var leftovers: [MigrationReport.Leftover] = []
    var droppedObjects: [String] = []
    var warnings: [FerryWarning] = []
    /// Absent in records of earlier tools.
    var losses: [Loss]?
}
