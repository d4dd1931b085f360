package import FerryBase
package import FerryModel
internal import FerrySQLite
internal import FerryStore

/// What of a new store does not follow from its model: from a store that Core Data made, or, of join tables, as it is
/// said.
package struct TargetNames {
    private let like: String?
    private let joinTables: [String]
    private let trace: TraceHook?

    package init(like: String?, joinTables: [String], trace: TraceHook? = nil) {
        self.like = like
        self.joinTables = joinTables
        self.trace = trace
    }

    /// A version with what is known of its stores, and a warning for each that the rules alone give.
    package func settled(
        _ version: ModelVersion, files: FileLayer
    ) throws -> (version: ModelVersion, warnings: [String]) {
        var (names, schema) = try said(of: version, named: version.name, files: files)
        let warnings = names.unknown.filter(\.isSideOpen).map { join in
            "No rule tells for certain how Core Data names the join table of \(join.table.relationship.entity)."
                + "\(join.table.relationship.property): it gets the later name, \(join.table.name)."
        }
        var version = version
        names.takeComputed()
        version.model.knownJoins = names.known
        version.model.knownSchema = schema
        return (version, warnings)
    }

    /// What is said, and what the store of that version tells: names of join tables, and its whole schema.
    func said(
        of version: ModelVersion, named name: String, files: FileLayer
    ) throws -> (names: JoinNames, schema: KnownSchema?) {
        var names = JoinNames(StoreLayout.openJoins(of: version.model), version: name)
        try names.take(joinTables)
        guard let like else { return (names, nil) }
        let (layout, schema) = try read(like, as: version, named: name, files: files)
        try names.check(against: layout, of: like)
        names.take(layout)
        return (names, schema)
    }

    private func read(
        _ path: String, as version: ModelVersion, named name: String, files: FileLayer
    ) throws -> (StoreLayout, KnownSchema) {
        let path = try RunPlace.existing(path, files: files)
        let reader = try SourceGuard(path: path, purpose: .reading, files: files, trace: trace)
        return try reader.closing {
            guard try OpenedStore(reader).metadata.hashes == version.hashes else {
                throw FerryError(
                    .unknownVersion, "The store \(path), which names are to be taken from, is not of version \(name).",
                    remedy:
                        "Give a store of that version with \(setting: .like), for example an empty one that a simulator made."
                )
            }
            return (
                try StoreLayout.actual(for: version.model, on: reader.connection),
                try KnownSchema(of: version.model, on: reader.connection)
            )
        }
    }
}

extension MigrationRun {
    /// The target with the schema of the store that it is to be like, and with the names of join tables that its model
    /// leaves open, as far as they are known; what is not becomes a refusal.
    func settleNames(of target: ModelVersion, from version: ModelVersion, _ store: OpenedStore) throws -> ModelVersion {
        nameRefusals = []
        var (names, schema) = try TargetNames(
            like: configuration.like?.filePath, joinTables: configuration.joinTables, trace: configuration.trace
        ).said(of: target, named: inputs.catalog.displayName(of: target), files: files)
        if !names.unknown.isEmpty {
            let layout = try StoreLayout.actual(for: version.model, on: store.sourceGuard.connection)
            names.takeUnchanged(from: layout, for: target.model)
        }
        nameRefusals = names.refusals
        var settled = target
        settled.model.knownJoins = names.known
        settled.model.knownSchema = schema
        for index in inputs.catalog.versions.indices where inputs.catalog.versions[index].hashes == target.hashes {
            inputs.catalog.versions[index].model.knownJoins = names.known
            inputs.catalog.versions[index].model.knownSchema = schema
        }
        return settled
    }
}
