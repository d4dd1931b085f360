internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore
internal import Foundation

/// `Z_METADATA`: UUID and app keys are kept; hashes, digest, checksum and identifiers are those of the new version.
struct MetadataCheck: Check {
    static let name = "metadata"

    private static let ofVersion: Set<String> = [
        "NSStoreModelVersionHashes", "NSStoreModelVersionHashesVersion", "NSStoreModelVersionIdentifiers",
        "NSStoreModelVersionHashesDigest", "NSStoreModelVersionChecksumKey",
    ]

    /// Runs after all walkers have ended: the archive of a model with hundreds of entities takes some MiB.
    func parts(in context: VerificationContext) throws -> [CheckPart] { [] }

    func finish(_ outcomes: [PartOutcome], in context: VerificationContext) throws {
        // What is read from damaged pages shows nothing about the run.
        if context.progress.state.outcomes.values.contains(where: \.isUnreadable) { return }
        context.forgetReadings()
        try run(in: context)
    }

    func run(in context: VerificationContext) throws {
        let new: StoreMetadata
        do {
            new = try StoreMetadata.read(from: context.connection, schema: "destination")
        } catch let error as FerryError {
            // The message has the place, but no values.
            return context.report(MetadataCheck.self, entity: nil, example: "Z_METADATA: \(error.code)")
        }
        let old = try StoreMetadata.read(from: context.connection, schema: "source")
        let version = context.step.destination
        var wrong: [String] = []
        if new.uuid != old.uuid { wrong.append("Z_UUID") }
        if new.version != old.version { wrong.append("Z_VERSION") }
        if new.hashes != version.hashes { wrong.append("NSStoreModelVersionHashes") }
        if new.hashesVersion != 3 { wrong.append("NSStoreModelVersionHashesVersion") }
        if new.versionIdentifiers != version.model.versionIdentifiers { wrong.append("NSStoreModelVersionIdentifiers") }
        let names = version.hashes.keys.inOrder(by: codeUnitOrder)
        wrong += wrongSum(
            "NSStoreModelVersionHashesDigest", new.digest, hadOne: old.digest != nil,
            MetadataCheck.digest(version, names))
        wrong += wrongSum(
            "NSStoreModelVersionChecksumKey", new.checksum, hadOne: old.checksum != nil,
            MetadataCheck.checksum(version, names))
        for key in Set(old.properties.keys).union(new.properties.keys) where !MetadataCheck.ofVersion.contains(key) {
            if old.properties[key] != new.properties[key] { wrong.append(key) }
        }
        context.report(
            MetadataCheck.self, entity: nil, count: Int64(wrong.count),
            example: wrong.min(by: codeUnitOrder).map { "Z_METADATA \($0)" })
        try checkRowCounts(in: context)
        try checkModelCache(in: context)
    }

    /// Checks that each table has at most one row; a store altered in place may have as many as before.
    private func checkRowCounts(in context: VerificationContext) throws {
        let isAltered = context.verification.beganAsSource || context.verification.mayHaveOtherNames
        func rows(_ table: String, in schema: String) throws -> Int64 {
            let isThere = try context.connection.value(
                "SELECT 1 FROM \(schema).sqlite_master WHERE name = ?", [.text(table)])
            return isThere == nil ? 0 : try context.connection.integer("SELECT count(*) FROM \(schema).\(table)") ?? 0
        }
        for table in ["Z_METADATA", "Z_MODELCACHE"] {
            let found = try rows(table, in: "destination")
            if try found > max(1, isAltered ? rows(table, in: "source") : 1) {
                context.report(MetadataCheck.self, entity: nil, count: found - 1, example: "\(table): \(found) rows")
            }
        }
    }

    /// Checks that a cached model is that of the new version, and that the source has one too.
    ///
    /// A run writes one wherever the source has one and the model has a known archived form.
    private func checkModelCache(in context: VerificationContext) throws {
        guard try ModelCache.hasModel(context.connection, schema: "destination") else {
            if try isModelMissing(in: context) {
                context.report(MetadataCheck.self, entity: nil, example: "Z_MODELCACHE")
            }
            return
        }
        var isRight = false
        do {
            isRight = try ModelCache.hasModel(context.connection, schema: "source") && isOfVersion(in: context)
        } catch let error as FerryError where error.code == .badArchive || error.code == .badModel {
            isRight = false
        }
        if !isRight { context.report(MetadataCheck.self, entity: nil, example: "Z_MODELCACHE") }
    }

    private func isModelMissing(in context: VerificationContext) throws -> Bool {
        let connection = context.connection
        guard !context.verification.mayHaveOtherNames, try ModelCache.hasTable(connection, schema: "source") else {
            return false
        }
        if try !ModelCache.hasTable(connection, schema: "destination") { return true }
        return try ModelCache.hasModel(connection, schema: "source")
            && ModelCache.archive(of: context.destinationModel) != nil
    }

    /// Whether the cached model is, byte for byte, what a run writes; where Core Data may have written it, whether its
    /// hashes are those of the version.
    ///
    /// Before COMMIT the hashes are enough: to make the archive again takes a quarter of the time of all checks of a
    /// small store.
    private func isOfVersion(in context: VerificationContext) throws -> Bool {
        let verification = context.verification
        if verification.mayHaveOtherNames || verification.isAlone || context.isInTransaction {
            let cached = try ModelCache.version(in: context.connection, schema: "destination")
            return cached?.hashes == context.step.destination.hashes
        }
        guard let expected = try ModelCache.archive(of: context.destinationModel) else { return false }
        return try ModelCache.archive(in: context.connection, schema: "destination") == expected
    }

    /// Compares a digest or checksum, which may be missing if the source has none, as with older frameworks.
    private func wrongSum(_ key: String, _ actual: String?, hadOne: Bool, _ expected: String) -> [String] {
        guard let actual else { return hadOne ? [key] : [] }
        return actual == expected ? [] : [key]
    }

    private static func digest(_ version: ModelVersion, _ names: [String]) -> String {
        var hash = SHA512()
        for name in names {
            hash.update(Array(name.utf8))
            hash.update(version.hashes[name] ?? [])
        }
        return Data(hash.finalize()).base64EncodedString()
    }

    private static func checksum(_ version: ModelVersion, _ names: [String]) -> String {
        var hash = SHA256()
        for name in names { hash.update(version.hashes[name] ?? []) }
        return Data(hash.finalize()).base64EncodedString()
    }
}

/// The header numbers that an app can set are the same in the migrated store.
struct HeaderNumbersCheck: Check {
    static let name = "header"
    static let scope = CheckScope.migration

    func run(in context: VerificationContext) throws {
        for name in ["application_id", "user_version"] {
            let numbers = try ["source", "destination"].map { try context.connection.pragma(name, in: $0) }
            if numbers[0] != numbers[1] { context.report(HeaderNumbersCheck.self, entity: nil, example: name) }
        }
    }
}

/// `Z_MAX`: not below the highest key of its table, nor below the source's `Z_MAX` if a mapping keeps keys.
///
/// A run writes exactly the highest of these, and 0 for subentities, which give no keys of their own.
struct KeysCheck: Check {
    static let name = "keys"

    func run(in context: VerificationContext) throws {
        for table in context.destinationTables {
            let largest = try context.connection.integer("SELECT max(Z_PK) FROM destination.\(table.name)") ?? 0
            let expected = max(largest, try context.highestKeptKey(in: table.root))
            let isWritten = !context.verification.mayHaveOtherNames && !context.verification.isAlone
            let others = context.destinationModel.family(of: table.root).filter { isWritten && $0 != table.root }
            for entity in [table.root] + others {
                let recorded = try context.connection.integer(
                    "SELECT Z_MAX FROM destination.Z_PRIMARYKEY WHERE Z_ENT = ?",
                    [.integer(try context.destinationNumber(of: entity))])
                let isRight =
                    isWritten ? recorded == (entity == table.root ? expected : 0) : recorded ?? -1 >= expected
                if !isRight {
                    context.report(KeysCheck.self, entity: entity, example: "Z_PRIMARYKEY \(entity) Z_MAX")
                }
            }
        }
    }
}
