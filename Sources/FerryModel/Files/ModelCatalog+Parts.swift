package import FerryBase

/// Stores that hold less than a version, or more: the entities of one configuration, or those of several models that
/// the app merges.
extension ModelCatalog {
    /// The versions as a store with these hashes sees them; see ``fitted(to:target:)``.
    package func fitted(to hashes: [String: [UInt8]]) -> ModelCatalog {
        guard versions(matching: hashes).isEmpty else { return self }
        if let configuration = configuration(of: hashes) { return restricted(to: configuration) }
        return merged(for: hashes, wanted: nil) ?? self
    }

    /// The versions as a store with these hashes sees them, for a migration.
    ///
    /// Where no version fits a store as a whole, the entities of one configuration may, or versions of several bundles
    /// together. Then the catalog holds such parts, or such unions: from the store's own on, bundle by bundle, version
    /// by version, to the current one of each.
    ///
    /// - Parameters:
    ///   - hashes: The store's.
    ///   - target: The name of the version that is asked for; of several bundles it stands for its own alone.
    /// - Returns: This catalog, where a version fits, or nothing does.
    /// - Throws: `.unsupported` when the version that is asked for lacks the store's configuration; `.noSuchVersion` and
    ///   `.ambiguousVersion`.
    package func fitted(to hashes: [String: [UInt8]], target: String?) throws(FerryError) -> ModelCatalog {
        guard versions(matching: hashes).isEmpty else { return self }
        if let configuration = configuration(of: hashes) {
            let wanted = try target.map { name throws(FerryError) in try version(named: name) } ?? currentVersion()
            if let wanted, wanted.restricted(to: configuration) == nil { throw lost(configuration, in: wanted) }
            return restricted(to: configuration)
        }
        guard merged(for: hashes, wanted: nil) != nil else { return self }
        let wanted = try target.map { name throws(FerryError) in try version(named: name) }
        return merged(for: hashes, wanted: wanted) ?? self
    }

    // MARK: Configurations

    private func configuration(of hashes: [String: [UInt8]]) -> String? {
        let names = Set(versions.flatMap(\.model.configurations.keys)).sorted(by: codeUnitOrder)
        return names.first { name in versions.contains { $0.restricted(to: name)?.hashes == hashes } }
    }

    private func restricted(to configuration: String) -> ModelCatalog {
        var catalog = self
        catalog.versions = versions.compactMap { $0.restricted(to: configuration) }
        catalog.members = members.compactMap { member in
            guard let whole = versions.first(where: { $0.hashes == member.hashes }),
                let part = whole.restricted(to: configuration)
            else { return nil }
            var member = member
            member.hashes = part.hashes
            return member
        }
        return catalog
    }

    private func lost(_ configuration: String, in version: ModelVersion) -> FerryError {
        FerryError(
            .unsupported,
            "The store was made for the configuration \(configuration), which version \(displayName(of: version)) does not "
                + "have, or not with everything that its entities refer to.",
            remedy: "Give that version a configuration of the same name with the entities of this store.")
    }

    // MARK: Merged models

    private func merged(for hashes: [String: [UInt8]], wanted: ModelVersion?) -> ModelCatalog? {
        var bundles: [[ModelVersion]] = []
        for version in versions {
            if let index = bundles.firstIndex(where: { Self.home(of: $0[0]) == Self.home(of: version) }) {
                bundles[index].append(version)
            } else {
                bundles.append([version])
            }
        }
        var parts: [(versions: [ModelVersion], index: Int)] = []
        for bundle in bundles {
            let fitting = bundle.indices.filter { index in
                !bundle[index].hashes.isEmpty && bundle[index].hashes.allSatisfy { hashes[$0.key] == $0.value }
            }
            // Of several the one that explains most, of these the last.
            let most = fitting.map { bundle[$0].hashes.count }.max()
            let best = fitting.last { bundle[$0].hashes.count == most }
            if let best { parts.append((bundle, best)) }
        }
        guard parts.count > 1, let own = ModelVersion(merging: parts.map { $0.versions[$0.index] }),
            own.hashes == hashes
        else { return nil }
        var catalog = self
        catalog.versions = [own]
        catalog.isMerged = true
        for place in parts.indices {
            let part = parts[place]
            let goal = Self.goal(of: part.versions, wanted: wanted) ?? part.index
            for index in stride(from: part.index, to: goal, by: goal < part.index ? -1 : 1) {
                parts[place].index = goal < part.index ? index - 1 : index + 1
                guard let next = ModelVersion(merging: parts.map { $0.versions[$0.index] }) else { return nil }
                catalog.versions.append(next)
            }
        }
        catalog.versions[catalog.versions.endIndex - 1].isCurrent = true
        return catalog
    }

    /// The place of the version that is asked for, or of the current one; nil when the bundle does not say.
    private static func goal(of bundle: [ModelVersion], wanted: ModelVersion?) -> Int? {
        if let wanted, let index = bundle.firstIndex(where: { $0.path == wanted.path }) { return index }
        return bundle.count == 1 ? 0 : bundle.lastIndex(where: \.isCurrent)
    }
}

extension ModelVersion {
    /// The version with the entities of one configuration alone.
    ///
    /// - Returns: Nil when there is no such configuration, or its entities refer to others.
    package func restricted(to configuration: String) -> ModelVersion? {
        guard let names = model.configurations[configuration], !names.isEmpty else { return nil }
        let kept = Set(names)
        let entities = kept.compactMap { model.entities[$0] }
        let isClosed = entities.allSatisfy { entity in
            entity.superentity.map(kept.contains) ?? true
                && entity.relationships.allSatisfy { $0.isTransient || kept.contains($0.destinationEntity) }
        }
        guard entities.count == kept.count, isClosed else { return nil }
        var version = self
        version.model = ManagedObjectModel(
            versionIdentifiers: model.versionIdentifiers, entities: entities,
            configurations: [configuration: names.sorted(by: codeUnitOrder)], composites: model.composites)
        version.hashes = hashes.filter { kept.contains($0.key) }
        return version
    }

    /// Several models as one, as an app that merges them has it.
    ///
    /// - Returns: Nil when two of them have different entities or composites under one name.
    package init?(merging versions: [ModelVersion]) {
        var entities: [String: Entity] = [:]
        var hashes: [String: [UInt8]] = [:]
        var composites: [String: [Attribute]] = [:]
        for version in versions {
            for (name, entity) in version.model.entities {
                guard hashes[name] == nil || hashes[name] == version.hashes[name] else { return nil }
                entities[name] = entity
                hashes[name] = version.hashes[name]
            }
            for (name, elements) in version.model.composites {
                guard composites[name] == nil || composites[name] == elements else { return nil }
                composites[name] = elements
            }
        }
        let identifiers = Set(versions.flatMap(\.model.versionIdentifiers)).sorted(by: codeUnitOrder)
        self.init(
            name: versions.map(\.name).joined(separator: " + "), bundle: nil,
            path: versions.map(\.path).joined(separator: " + "), isCurrent: false,
            model: ManagedObjectModel(
                versionIdentifiers: identifiers, entities: Array(entities.values), composites: composites),
            hashes: hashes)
        parts = versions.map(\.path)
    }
}
