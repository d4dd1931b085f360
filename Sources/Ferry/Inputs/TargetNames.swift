package import FerryBase
package import FerryModel
internal import FerrySQLite
internal import FerryStore

/// Names in a new store that its model leaves open: from a store of Core Data, or, for join tables, from a setting.
package struct TargetNames {
    private let like: String?
    private let joinTables: [String]
    private let trace: TraceHook?

    package init(like: String?, joinTables: [String], trace: TraceHook? = nil) {
        self.like = like
        self.joinTables = joinTables
        self.trace = trace
    }

    /// A version with the known names and schema of its stores, and a warning for each name that only the rules give.
    package func settled(
        _ version: ModelVersion, files: FileLayer
    ) throws -> (version: ModelVersion, warnings: [String]) {
        var (names, schema) = try namesAndSchema(of: version, named: version.name, files: files)
        let warnings = names.unknown.filter(\.isSideOpen).map { join in
            "It is not certain how Core Data names the join table of \(join.table.relationship.entity)."
                + "\(join.table.relationship.property): it gets the later name, \(join.table.name)."
        }
        var version = version
        names.takeComputed()
        version.model.knownJoins = names.known
        version.model.knownSchema = schema
        return (version, warnings + StoreLayout.leftOutIndexes(of: version.model).map(\.sentence))
    }

    /// The names of join tables from the setting and from the store of that version, and that store's whole schema.
    func namesAndSchema(
        of version: ModelVersion, named name: String, files: FileLayer
    ) throws -> (names: JoinNames, schema: KnownSchema?) {
        var names = JoinNames(StoreLayout.openJoins(of: version.model), version: name)
        var schema: KnownSchema?
        if let like {
            let layout: StoreLayout
            (layout, schema) = try read(like, as: version, named: name, files: files)
            names.take(layout)
        }
        try names.take(joinTables, besides: like)
        return (names, schema)
    }

    private func read(
        _ path: String, as version: ModelVersion, named name: String, files: FileLayer
    ) throws -> (StoreLayout, KnownSchema) {
        try OpenedStore.reading(path, files: files, trace: trace) { store in
            guard store.metadata.hashes == version.hashes else {
                throw FerryError(
                    .unknownVersion, "The template store \(store.path) does not have version \(name).",
                    remedy:
                        "Pass a store of that version with \(setting: .like), for example an empty one from a simulator."
                )
            }
            return (
                try StoreLayout.actual(for: version.model, on: store.sourceGuard.connection),
                try KnownSchema(of: version.model, on: store.sourceGuard.connection)
            )
        }
    }
}

extension MigrationRun {
    /// Gives the target the schema of ``Configuration/like``, and known names of join tables; refuses unknown ones.
    func settleNames(of ends: inout MigrationEnds, _ store: OpenedStore) throws {
        let target = ends.target
        ends.layoutStore = try configuration.like?.filePath ?? storeWithLayout(of: target, besides: store)
        var (names, schema) = try TargetNames(
            like: ends.layoutStore, joinTables: configuration.joinTables, trace: configuration.trace
        ).namesAndSchema(of: target, named: inputs.catalog.displayName(of: target), files: files)
        if !names.unknown.isEmpty {
            let layout = try StoreLayout.actual(for: ends.version.model, on: store.sourceGuard.connection)
            names.takeUnchanged(from: layout, for: target.model)
        }
        ends.nameRefusals = names.refusals
        ends.target.model.knownJoins = names.known
        ends.target.model.knownSchema = schema
        for index in inputs.catalog.versions.indices where inputs.catalog.versions[index].hashes == target.hashes {
            inputs.catalog.versions[index].model.knownJoins = names.known
            inputs.catalog.versions[index].model.knownSchema = schema
        }
    }

    /// The store among the models whose layout the new store gets; nil if none is of the target version.
    ///
    /// - Throws: ``FerryError`` `.layoutUnknown` if several stores were given for the version, with different layouts.
    private func storeWithLayout(of target: ModelVersion, besides store: OpenedStore) throws -> String? {
        let fitting = inputs.catalog.stores.filter { $0.hashes == target.hashes && $0.path != store.path }
        // The store that the target names, else those that were given, else those that lie in a folder.
        if let named = fitting.first(where: { !$0.isFoundStore && $0.path == target.path && $0.name == target.name }),
            configuration.target != nil
        {
            return named.path
        }
        let given = fitting.filter { !$0.isFoundStore }
        let candidates = given.isEmpty ? fitting : given
        guard candidates.count > 1 else { return candidates.first?.path }
        let digests = try candidates.map { candidate in
            try OpenedStore.reading(candidate.path, files: files, trace: configuration.trace) {
                try KnownSchema(of: target.model, on: $0.sourceGuard.connection).digest
            }
        }
        guard let other = digests.firstIndex(where: { $0 != digests[0] }) else { return candidates[0].path }
        let paths = "\(candidates[0].path) and \(candidates[other].path)"
        guard given.isEmpty else {
            throw FerryError(
                .layoutUnknown,
                "\(paths) have version \(inputs.catalog.displayName(of: target)), and differ in their tables, columns or "
                    + "indexes.",
                remedy: "Choose the template of the new store with \(setting: .like, .some("STORE")).")
        }
        inputs.warnings.append(
            FerryWarning(
                .layoutNotTaken,
                "\(paths) are among the models, have version \(inputs.catalog.displayName(of: target)), and differ in "
                    + "their tables, columns or indexes: the new store is made by the rules.",
                about: .init(path: candidates[0].path)))
        return nil
    }
}

/// The names of the join tables that a model leaves open, from all sources.
struct JoinNames {
    private let open: [OpenJoin]
    private let version: String
    private(set) var known: [KnownJoin] = []
    private(set) var unknown: [OpenJoin]

    init(_ open: [OpenJoin], version: String) {
        self.open = open
        self.version = version
        unknown = open
    }

    private mutating func settle(_ join: OpenJoin, _ name: KnownJoin) {
        known.append(name)
        unknown.removeAll { $0.table.relationship == join.table.relationship }
    }

    /// Takes names from the setting: `Entity.relationship`, or `Entity.relationship=TABLE`.
    ///
    /// - Throws: ``FerryError`` `.layoutUnknown` for text that names no open join table, or not as `store` does, whose
    ///   names are taken already.
    mutating func take(_ given: [String], besides store: String?) throws(FerryError) {
        for text in given {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first,
                let join = open.first(where: { $0.isSideOpen && Self.sides(of: $0).contains(name) })
            else {
                let names = open.filter(\.isSideOpen).flatMap(Self.sides)
                throw FerryError(
                    .layoutUnknown,
                    "\(text) is not a relationship of \(version) from an entity to itself whose table name is uncertain.",
                    remedy: names.isEmpty
                        ? "Leave \(setting: .joinTables) out." : "There are: \(names.joined(separator: ", ")).")
            }
            let pair = [join.table.relationship, join.table.inverse]
            var side = pair.first { "\($0.entity).\($0.property)" == name } ?? pair[0]
            if parts.count == 2 {
                guard let place = join.names.firstIndex(of: parts[1].uppercased()) else {
                    throw FerryError(
                        .layoutUnknown, "The table of \(name) cannot be named \(parts[1]) in a store of \(version).",
                        remedy: "It is one of: \(join.names.joined(separator: ", ")).")
                }
                side = pair[place]
            }
            guard unknown.contains(where: { $0.table.relationship == join.table.relationship }) else {
                let found = known.first { $0.entity == side.entity && join.names($0) }
                guard let store, let found, found.relationship != side.property else { continue }
                throw FerryError(
                    .layoutUnknown,
                    "\(side.entity).\(side.property) was given as the name of its table, but in \(store) "
                        + "\(found.entity).\(found.relationship) does.",
                    remedy: "Leave \(setting: .joinTables) out: \(setting: .like) is enough.")
            }
            // The name of the table does not determine the names of its columns.
            guard !join.areSuffixesOpen else { continue }
            settle(join, KnownJoin(entity: side.entity, relationship: side.property))
        }
    }

    /// Takes the names of a store of the same version.
    mutating func take(_ layout: StoreLayout) {
        for join in unknown {
            if let name = layout.knownJoin(join, in: join.table.relationship.entity) { settle(join, name) }
        }
    }

    /// Takes names from a store of another version for entities with equal properties, on which alone a name depends.
    mutating func takeUnchanged(from layout: StoreLayout, for model: ManagedObjectModel) {
        let matching = ModelMatching(source: layout.model, destination: model)
        for join in unknown {
            let entities = Set([join.table.relationship.entity, join.table.inverse.entity])
            let isUnchanged = entities.allSatisfy { entity in
                guard let old = matching.sourceEntities[entity] else { return false }
                return Self.properties(of: old, in: layout.model) == Self.properties(of: entity, in: model)
            }
            guard isUnchanged, let old = matching.sourceEntities[join.table.relationship.entity],
                let name = layout.knownJoin(join, in: old)
            else { continue }
            settle(join, name)
        }
    }

    /// Takes the names by the rules, which are right for most real stores.
    mutating func takeComputed() {
        for join in unknown where join.isSideOpen && !join.areSuffixesOpen {
            let side = join.table.relationship
            settle(join, KnownJoin(entity: side.entity, relationship: side.property))
        }
    }

    var refusals: [FerryError] {
        unknown.map { join in
            let sides = Self.sides(of: join)
            guard !join.areSuffixesOpen else {
                return FerryError(
                    .layoutUnknown,
                    "It is not known how Core Data names the columns of the join table of \(sides[0]) in a store of "
                        + "\(version): another join table of its entity has columns of the same name, and the entity "
                        + "has changed.",
                    // The setting for join tables names tables only.
                    remedy:
                        "Use \(setting: .like, .some("STORE")) with a store of \(version) that Core Data created; it may be empty.",
                    place: .init(
                        entity: join.table.relationship.entity, property: join.table.relationship.property))
            }
            return FerryError(
                .layoutUnknown,
                "It is not known whether \(sides[0]) or \(sides[1]) names their join table in a store of \(version), because "
                    + "the entity's properties have changed: Core Data looks for exactly one of the two.",
                remedy: """
                    Use \(setting: .like, .some("STORE")) with a store of \(version) that Core Data created (it may be \
                    empty), or name the table: \
                    \(setting: .joinTables, each: zip(sides, join.names).map { .element("\($0)=\($1)") }, separator: " or ").
                    """,
                place: .init(entity: join.table.relationship.entity, property: join.table.relationship.property))
        }
    }

    private static func sides(of join: OpenJoin) -> [String] {
        [join.table.relationship, join.table.inverse].map { "\($0.entity).\($0.property)" }
    }

    private static func properties(of entity: String, in model: ManagedObjectModel) -> Set<String> {
        guard let entity = model.entities[entity] else { return [] }
        return Set(entity.attributes.map(\.name) + entity.relationships.map(\.name))
    }
}

extension OpenJoin {
    /// Whether a known name is one of this table's.
    fileprivate func names(_ known: KnownJoin) -> Bool {
        [table.relationship, table.inverse].contains { $0.entity == known.entity && $0.property == known.relationship }
    }
}
