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

    /// Everything that stands in the way, and what is only worth knowing.
    func check() throws -> (refusals: [FerryError], warnings: [String]) {
        do {
            var (refusals, warnings) = valuesWithoutSource()
            refusals += try nullsInMandatoryAttributes()
            let carried = try CarriedCheck(store: store, layout: layout, step: step).check()
            refusals += carried.refusals
            warnings += carried.warnings
            refusals += rowsOfAbstractEntities() + (try duplicates())
            warnings += try emptyMandatoryRelationships()
            let damage = try StoreDamage.scan(layout, on: store.sourceGuard.connection)
            for damage in damage {
                switch damage.kind {
                case .unknownEntity: refusals.append(unknownEntity(damage))
                case .danglingKey, .oneSidedInverse, .lowMaximumKey, .missingFile:
                    warnings.append(words(for: damage))
                // Counts only where it is carried into a mandatory attribute, which is checked above.
                case .missingValue: break
                }
            }
            let missing = try StoreDamage.missingFiles(
                in: layout, of: store.path, on: store.sourceGuard.connection, files: FileLayer())
            for damage in missing {
                if isTakenIn(damage) {
                    refusals.append(missingContents(damage))
                } else {
                    warnings.append(words(for: damage))
                }
            }
            return (refusals, warnings)
        } catch {
            throw FerryError.wrapping(error, on: store.path)
        }
    }

    // MARK: Mandatory values

    /// Mandatory attributes that an entity mapping gives no value at all.
    private func valuesWithoutSource() -> (refusals: [FerryError], warnings: [String]) {
        var refusals: [FerryError] = []
        var warnings: [String] = []
        for check in step.needsRowCheck {
            guard let mapping = step.resolved.entityMapping(named: check.entityMapping),
                rows[mapping.source, default: 0] > 0
            else { continue }
            if mapping.filter == nil, mapping.iteration == nil {
                refusals.append(check.problem)
            } else {
                warnings.append("\(check.problem.message) The first object that it makes will stop the run.")
            }
        }
        return (refusals, warnings)
    }

    /// Mandatory destination attributes that are filled from a source attribute which is NULL in some row.
    private func nullsInMandatoryAttributes() throws -> [FerryError] {
        var refusals: [FerryError] = []
        // What a policy makes of an object without the value only its code tells.
        for mapping in step.resolved.entityMappings
        where mapping.filter == nil && mapping.iteration == nil && mapping.policy == nil {
            guard rows[mapping.source, default: 0] > 0 else { continue }
            let carried = mandatoryAttributes(of: mapping)
            guard !carried.isEmpty, let table = layout.table(of: mapping.source),
                let number = layout.number(of: mapping.source)
            else { continue }
            // One scan for all of them.
            let sums = carried.map { "sum(\(Connection.quoted($0.column.name)) IS NULL)" }.joined(separator: ", ")
            let counts = try store.sourceGuard.connection.rows(
                "SELECT \(sums) FROM \(Connection.quoted(table.name)) WHERE Z_ENT = ?", [.integer(number)])
            for (attribute, count) in zip(carried, counts.first ?? []) {
                guard let count = count.integer, count > 0 else { continue }
                refusals.append(refusal(mapping, attribute, rows: count))
            }
        }
        return refusals
    }

    private struct Carried {
        var destination: String
        var source: String
        var isOptional: Bool
        var column: Column
    }

    private func mandatoryAttributes(of mapping: ResolvedEntityMapping) -> [Carried] {
        mapping.attributes.compactMap { attribute in
            guard case .keyPath(.variable("source"), let path) = attribute.expression, case .key(let name) = path.first,
                path.count == 1, let source = layout.model.attribute(name, of: mapping.source),
                let column = layout.column(of: name, in: mapping.source),
                let destination = step.resolved.destination.model.attribute(attribute.name, of: mapping.destination),
                !destination.isOptional, !destination.isTransient
            else { return nil }
            return Carried(
                destination: attribute.name, source: name, isOptional: source.isOptional, column: column)
        }
    }

    private func refusal(_ mapping: ResolvedEntityMapping, _ attribute: Carried, rows: Int64) -> FerryError {
        let place = FerryError.Place(
            entityMapping: mapping.name, entity: mapping.destination, property: attribute.destination)
        let source = "\(mapping.source).\(attribute.source)"
        let destination = "\(mapping.destination).\(attribute.destination)"
        if attribute.isOptional {
            return FerryError(
                .mandatoryValue,
                "\(source) has no value in \(rows) rows, and \(destination), which is filled from it, is mandatory.",
                remedy: "Give \(destination) an expression that stands in, or make it optional in the model.",
                place: place)
        }
        return FerryError(
            .damagedSource,
            "\(source) is mandatory in the store's own version, but has no value in \(rows) rows, and \(destination) is "
                + "filled from it.",
            remedy: "Repair these rows with the app, or give \(destination) an expression that stands in.", place: place
        )
    }
}
