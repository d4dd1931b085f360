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
            let checks = rowChecks(planned.rows)
            // The first answer about a table answers all that was asked.
            checks.askForRows()
            askForEmptyValues()
            for link in mandatoryLinks(checks) { planned.scans.ask(forRowsWithoutAny: [link.column], in: link.place) }
            let values = try checks.valuesWithoutSource()
            refusals += values.refusals
            findings.warnings += values.warnings
            try findEmptyMandatoryValues()
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
            let checks = rowChecks(planned.rows)
            let needing = Set(step.needsRowCheck.map(\.source) + step.needsEmptySource.map(\.source))
            // An estimate may count rows of an entity that has none.
            let present = try needing.filter { entity in
                guard let place = checks.rows(of: entity) else { return false }
                let first = try connection.integer(
                    "SELECT EXISTS (SELECT 1 FROM \(Connection.quoted(place.table)) WHERE Z_ENT = ?)",
                    [.integer(place.number)])
                return first == 1
            }
            let known = rowChecks(planned.rows.filter { present.contains($0.key) })
            return try known.valuesWithoutSource().refusals + known.rowsOfAbstractEntities()
        }
    }

    func rowChecks(_ rows: [String: Int64]) -> RowChecks {
        RowChecks(scans: planned.scans, layout: layout, rows: rows, step: step, named: named)
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

    /// A to-one relationship that is mandatory in the newer version, and the column of the one that it takes over.
    private typealias Link = (
        mapping: ResolvedEntityMapping, source: Relationship, destination: String, column: String,
        place: TableScans.Place
    )

    private func mandatoryLinks(_ checks: RowChecks) -> [Link] {
        step.resolved.entityMappings.filter(\.readsEveryObject).flatMap { mapping -> [Link] in
            guard let place = checks.rows(of: mapping.source) else { return [] }
            return mapping.relationships.compactMap { value in
                guard let name = value.sourceRelationship,
                    let source = layout.model.relationship(name, of: mapping.source),
                    let destination = step.resolved.destination.model.relationship(value.name, of: mapping.destination),
                    !destination.isOptional, !destination.isTransient,
                    case .foreignKey(_, let column, _, _)? = layout.storage(of: name, in: mapping.source)
                else { return nil }
                return (mapping, source, value.name, column, place)
            }
        }
    }

    /// Warns of mandatory to-one relationships empty in some row: Core Data refuses them at the next save only.
    private mutating func findEmptyMandatoryRelationships(_ checks: RowChecks) throws {
        for (mapping, source, destination, column, place) in mandatoryLinks(checks) {
            let count = try planned.scans.rows(withoutAny: [column], in: place)
            guard count > 0 else { continue }
            if !source.isOptional { noteKept(.missingValue, mapping.source, source.name, rows: count) }
            warn(
                .emptyMandatoryRelationship,
                "\(mapping.source).\(source.name) is empty in \(count.counting("row")), but "
                    + (source.isOptional
                        ? "\(mapping.destination).\(destination) is mandatory"
                        : "it is mandatory in the store's own version as well")
                    + ": the app must set it before it saves these objects.",
                about: .init(entity: mapping.source, property: source.name, entityMapping: mapping.name))
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
