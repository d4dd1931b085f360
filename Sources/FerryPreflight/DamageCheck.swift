internal import FerryBase
internal import FerryEngine
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Damage of rows and links that the store already has, and missing external files.
struct DamageCheck: PreflightCheck {
    let input: PreflightInput
    var findings = PreflightFindings()

    mutating func check() throws {
        // A run that writes no rows ignores their damage.
        guard input.writesRows else { return }
        findings.damage = try StoreDamage.scan(
            layout, on: connection, missingValues: false, inspection: input.inspection, in: input.checkedTables)
        for damage in findings.damage {
            switch damage.kind {
            // A copy heals these kinds, and the run counts the rows that it carries.
            case .danglingKey, .oneSidedInverse, .missingOrder:
                if isInPlace, !isCopiedLater { findings.kept.append(damage) }
                warn(message(for: damage), of: damage)
            case .wrongEntity, .lowMaximumKey:
                if isInPlace || damage.kind == .lowMaximumKey { findings.healed.append(damage) }
                warn(message(for: damage), of: damage)
            case .wrongOrder where isInPlace && !isCopiedLater:
                findings.kept.append(damage)
                warn(message(for: damage), of: damage)
            case .wrongOrder:
                refuse(
                    FerryError(
                        .damagedSource, message(for: damage),
                        remedy: "Restore a backup of the store, or order these objects anew with the app.",
                        place: .init(entity: damage.entity, property: damage.property)))
            case .unknownEntity: try treatUnknownEntities(damage)
            // Other kinds matter only to the new version's mandatory attributes and files, which have checks of their own.
            default: break
            }
        }
        try findMissingFiles()
    }

    private mutating func warn(_ message: String, of damage: StoreDamage) {
        warn(.damagedRows, message, about: .init(entity: damage.entity, property: damage.property))
    }

    private mutating func treatUnknownEntities(_ damage: StoreDamage) throws {
        let rows =
            "\(damage.rows.counting("row")) in the table of \(damage.entity) \(damage.rows == 1 ? "has" : "have") a Z_ENT of an entity that is not in that table"
        let place = FerryError.Place(entity: damage.entity)
        switch options.damaged {
        case .drop:
            // A run in place counts the rows that it deletes.
            if !isInPlace { findings.healed.append(damage) }
            warn("\(rows); they are left out, with the links to them.", of: damage)
            noteLoss(damage.entity, rows: damage.rows, because: "a Z_ENT of an entity that is not in the table")
        case .keep where isInPlace:
            // The refusals contain the reason already if the whole step is refused.
            guard case .success = try input.inPlace.attempt() else { return }
            if let refusal = try input.inPlace.refusalToKeepUnknownEntities() { return refuse(refusal) }
            findings.kept.append(damage)
            warn("\(rows); they stay as they are.", of: damage)
        case .keep:
            refuse(
                FerryError(
                    .damagedSource,
                    "\(rows), and cannot be kept: their entity in a new store is unknown.",
                    remedy: "Leave them out with \(setting: .damaged, .choice("drop")), or repair them with the app.",
                    place: place))
        case .refuse:
            refuse(
                FerryError(
                    .damagedSource, "\(rows).",
                    remedy: """
                        Repair these rows with the app, restore a backup of the store, or leave them out with \
                        \(setting: .damaged, .choice("drop")).
                        """, place: place))
        }
    }

    private mutating func findMissingFiles() throws {
        let found = try StoreDamage.missingFiles(
            in: layout, of: input.path, on: connection, files: FileLayer(), tables: input.checkedTables)
        findings.damage += found
        for damage in found {
            guard let mandatory = isMandatoryInRow(damage) else {
                findings.kept.append(damage)
                warn(message(for: damage), of: damage)
                continue
            }
            if options.damaged == .drop, !mandatory {
                findings.healed.append(damage)
                noteLoss(damage.entity, damage.property, rows: damage.rows, because: "its file is missing")
                warn(
                    "\(name(of: damage)) refers to missing files in \(damage.rows.counting("row")); it is left empty there.",
                    of: damage)
            } else {
                refuse(missingContents(damage, isMandatory: mandatory))
            }
        }
    }

    /// Whether rows take in the files' contents, and some such attribute is mandatory; nil if contents stay in files.
    private func isMandatoryInRow(_ damage: StoreDamage) -> Bool? {
        let takers = step.resolved.entityMappings.flatMap { mapping -> [Attribute] in
            guard layout.model.isKind(mapping.source, of: damage.entity) else { return [] }
            return mapping.attributes.compactMap { attribute in
                guard attribute.expression?.sourceKeys == damage.property else { return nil }
                let destination = step.resolved.destination.model.attribute(attribute.name, of: mapping.destination)
                return destination.flatMap { $0.allowsExternalStorage ? nil : $0 }
            }
        }
        return takers.isEmpty ? nil : takers.contains { !$0.isOptional }
    }

    private func missingContents(_ damage: StoreDamage, isMandatory: Bool) -> FerryError {
        let folder = ExternalData.folder(forStore: input.path)
        return FerryError(
            .damagedSource,
            "\(damage.rows.counting("value")) of \(name(of: damage)) \(damage.rows == 1 ? "refers to a missing file" : "refer to missing files"), and their contents are needed "
                + "because the attribute no longer allows external storage.",
            remedy: isMandatory
                ? "Restore \(folder), or leave these objects out with a `where`."
                : "Restore \(folder), or leave these values empty with \(setting: .damaged, .choice("drop")).",
            place: .init(entity: damage.entity, property: damage.property))
    }

    private func name(of damage: StoreDamage) -> String {
        damage.property.map { "\(damage.entity).\($0)" } ?? damage.entity
    }

    private func message(for damage: StoreDamage) -> String {
        let isInPlace = isInPlace && !isCopiedLater
        let name = name(of: damage)
        return switch damage.kind {
        case .danglingKey:
            "\(name) refers to missing objects in \(damage.rows.counting("row")); it \(isInPlace ? "stays as it is" : "is left empty there")."
        case .oneSidedInverse:
            "The inverse of \(name) does not match in \(damage.rows.counting("row")); it \(isInPlace ? "stays as it is" : "is corrected")."
        case .wrongEntity:
            "\(name) names the wrong entity in \(damage.rows.counting("row")); it is corrected."
        case .missingOrder:
            "\(name) has no position in \(damage.rows.counting("row")); \(isInPlace ? "it stays so" : "they come first")."
        case .wrongOrder:
            "\(name) has a position that is not an integer in \(damage.rows.counting("row"))\(isInPlace ? "; it stays so" : "")."
        case .lowMaximumKey: "Z_MAX of \(name) is lower than its highest key and will be corrected."
        case .missingFile:
            "\(name) refers to missing files in \(damage.rows.counting("row")); they stay as they are."
        default: "\(name) is damaged in \(damage.rows.counting("row"))."
        }
    }
}
