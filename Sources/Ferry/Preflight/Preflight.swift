internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// The scans of a store that show, before anything is written, that a migration would fail on its rows.
struct Preflight {
    let store: OpenedStore
    let planned: Planned
    /// The step that reads the store; the stores that later steps read do not exist yet.
    let step: StepPlan
    let inPlace: ProgramInPlace
    let configuration: Configuration
    /// The damage in the store's pages, if they were checked already.
    var damagedPages: [String]?

    var refusals: [FerryError] = []
    var findings = Findings()
    /// The losses by damage that is left out.
    var losses: [ChainLoss] = []
    /// The run's time, for expressions that ask for it.
    let now: Double

    /// Returns nil if there is nothing to do, or the step that reads the store is refused.
    init?(_ planned: Planned, _ store: OpenedStore, _ configuration: Configuration, now: Double) {
        guard let first = planned.plan.firstStep, let inPlace = planned.inPlace else { return nil }
        (self.planned, self.store, self.configuration) = (planned, store, configuration)
        self.now = now
        step = first
        self.inPlace = inPlace
    }

    var layout: StoreLayout { planned.layout }
    var named: NamedStep { NamedStep(0, of: planned.plan) }
    var connection: Connection { store.sourceGuard.connection }
    var isInPlace: Bool { step.mode == .inPlace }
    /// Whether a later step copies: the copy heals damage that the first step keeps, and cannot carry every object.
    var isCopiedLater: Bool { isInPlace && !planned.plan.isInPlace }

    /// Finds every reason to refuse the migration, and the findings that the run and its report need.
    mutating func check() throws {
        try FerryError.beforeRun(on: store.path) {
            if planned.writesRows, try !findDamagedPages() { return }
            let checks = RowChecks(
                connection: connection, layout: layout, rows: planned.rows, step: step, named: named,
                walk: planned.walk)
            let values = try checks.valuesWithoutSource()
            refusals += values.refusals
            findings.warnings += values.warnings
            try findEmptyMandatoryValues(checks)
            try findUnfitValues()
            try findLargeTexts()
            refusals += try checks.missingInPassedVersions()
            try findAppObjects()
            refusals += try checks.rowsOfAbstractEntities() + checks.duplicates(step.needsUniqueValues)
            try findEmptyMandatoryRelationships(checks)
            try findWrongCounts(checks)
            if planned.writesRows { try findDamage() }
            if let refusal = configuration.refusal(of: losses) { refusals.append(refusal) }
            findings.losses = losses.map(Loss.init)
        }
    }

    /// The refusals that models, mapping models and counts of rows tell; reads no values.
    func refusalsOfCounts() throws -> [FerryError] {
        try FerryError.beforeRun(on: store.path) {
            let checks = RowChecks(
                connection: connection, layout: layout, rows: planned.rows, step: step, named: named)
            let needing = Set(step.needsRowCheck.map(\.source) + step.needsEmptySource.map(\.source))
            // An estimate may count rows of an entity that has none.
            let present = try needing.filter { entity in
                guard let place = checks.rows(of: entity) else { return false }
                let first = try connection.integer(
                    "SELECT EXISTS (SELECT 1 FROM \(Connection.quoted(place.table)) WHERE Z_ENT = ?)",
                    [.integer(place.number)])
                return first == 1
            }
            let known = RowChecks(
                connection: connection, layout: layout, rows: planned.rows.filter { present.contains($0.key) },
                step: step, named: named)
            return try known.valuesWithoutSource().refusals + known.rowsOfAbstractEntities()
        }
    }

    mutating func warn(_ code: FerryWarning.Code, _ message: String, about subject: FerryWarning.Subject) {
        findings.warnings.append(FerryWarning(code, message, about: subject))
    }

    /// Notes rows, or values of a property, that are left out; `rows` is nil if they cannot be counted.
    mutating func noteLoss(_ entity: String, _ property: String? = nil, rows: Int64?, because what: String) {
        noteLoss(entity, property, rows: rows, .damaged(what))
    }

    mutating func noteLoss(_ entity: String, _ property: String?, rows: Int64?, _ cause: ChainLoss.Cause) {
        losses.append(
            ChainLoss(
                entity: entity, property: property, entities: [entity],
                version: step.versions.last ?? step.resolved.destination.name, step: 1, cause: cause,
                count: rows.map { .exactly($0) } ?? .atMost(planned.rows[entity] ?? 0)))
    }

    mutating func noteHealed(_ kind: DamageKind, _ entity: String, rows: Int64) {
        findings.healed.append(.init(step: 1, kind: kind, entity: entity, rows: rows))
    }

    mutating func noteKept(_ kind: DamageKind, _ entity: String, _ property: String?, rows: Int64) {
        findings.kept.append(.init(kind: kind, entity: entity, property: property, rows: rows))
    }

    /// Finds mandatory destination attributes whose source attribute is NULL in some row.
    private mutating func findEmptyMandatoryValues(_ checks: RowChecks) throws {
        for mapping in step.resolved.entityMappings where mapping.readsEveryObject {
            guard let place = checks.rows(of: mapping.source) else { continue }
            let asked = step.resolved.mandatoryValues(of: mapping).filter {
                planned.checks(place.table) || $0.wasOptional
            }
            let values = asked.compactMap { value in
                layout.column(of: value.source, in: mapping.source).map { (value: value, column: $0.name) }
            }
            guard !values.isEmpty else { continue }
            let damaged = values.indices.filter { !values[$0].value.wasOptional }
            let counts = try checks.emptyRows(values.map(\.column), damaged, in: place)
            for (value, count) in zip(values, counts) where count > 0 {
                let key = value.value.wasOptional ? try checks.firstRow(without: value.column, in: place) : nil
                treat(value.value, of: mapping, rows: count, key: key)
            }
            guard let count = counts.last, count > 0, configuration.damaged == .drop else { continue }
            // A run in place counts the rows that it deletes.
            if !isInPlace { noteHealed(.missingValue, mapping.source, rows: count) }
            let missing = zip(values, counts).filter { !$0.0.value.wasOptional && $0.1 > 0 }.map(\.0.value.source)
            noteLoss(mapping.source, rows: count, because: "no value of \(missing.joined(separator: " or "))")
        }
    }

    mutating func treat(
        _ value: ResolvedStep.MandatoryValue, of mapping: ResolvedEntityMapping, rows: Int64, key: Int64?
    ) {
        guard !value.wasOptional else {
            let place = FerryError.Place(
                entityMapping: mapping.name, entity: mapping.destination, property: value.destination)
            refusals.append(
                named.emptyValue(
                    "\(mapping.source).\(value.source)", of: "\(mapping.destination).\(value.destination)", rows: rows,
                    key: key, place))
            return
        }
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

    /// Warns of mandatory to-one relationships empty in some row: Core Data refuses them at the next save only.
    private mutating func findEmptyMandatoryRelationships(_ checks: RowChecks) throws {
        for mapping in step.resolved.entityMappings where mapping.readsEveryObject {
            guard let place = checks.rows(of: mapping.source) else { continue }
            for value in mapping.relationships {
                guard let name = value.sourceRelationship,
                    let source = layout.model.relationship(name, of: mapping.source),
                    let destination = step.resolved.destination.model.relationship(value.name, of: mapping.destination),
                    !destination.isOptional, !destination.isTransient,
                    case .foreignKey(_, let column, _, _)? = layout.storage(of: name, in: mapping.source)
                else { continue }
                let count = try EmptyValues.rows(without: column, in: place, on: connection)
                guard count > 0 else { continue }
                let finding = "\(mapping.source).\(name) is empty in \(count.counting("row")), but "
                if !source.isOptional {
                    noteKept(.missingValue, mapping.source, name, rows: count)
                }
                warn(
                    .emptyMandatoryRelationship,
                    finding
                        + (source.isOptional
                            ? "\(mapping.destination).\(value.name) is mandatory"
                            : "it is mandatory in the store's own version as well")
                        + ": the app must set it before it saves these objects.",
                    about: .init(entity: mapping.source, property: name, entityMapping: mapping.name))
            }
        }
    }
}

/// The findings of preflight in a store: the run needs some of them, and the final report contains all.
package struct Findings: Codable, Sendable {
    var damage: [StoreDamage] = []
    /// Healed damage that the run's steps do not count themselves.
    var healed: [MigrationReport.Healed] = []
    var kept: [MigrationReport.Kept] = []
    var leftovers: [MigrationReport.Leftover] = []
    var droppedObjects: [String] = []
    var warnings: [FerryWarning] = []
    /// Absent in records of earlier tools.
    var losses: [Loss]?
    /// Absent in records of earlier tools.
    var transformed: [Transformation]?

    /// The losses with the counts of a run, without those that lost nothing.
    func losses(countedBy mappings: [MigrationReport.EntityMappingReport]) -> [Loss] {
        (losses ?? []).map { $0.counted(by: mappings) }.filter { $0.rows != 0 }
    }
}
