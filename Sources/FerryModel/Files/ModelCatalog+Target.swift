package import FerryBase

/// The default target version of a migration.
extension ModelCatalog {
    /// The target version of a migration, or the reason why Ferry cannot choose one.
    package enum Target: Sendable {
        case version(ModelVersion)
        /// Several bundles hold the store's version, and their current versions differ.
        case severalBundles([ModelVersion])
        /// The bundle does not name its current version.
        case noCurrent([ModelVersion])
    }

    /// Returns the default target of a migration: the current version of the bundle that holds the store's version, or
    /// of the bundles to which mapping models (`links`) lead from that bundle.
    package func target(
        for hashes: [String: [UInt8]], along links: [(from: ModelVersion, to: ModelVersion)]
    ) -> Target {
        if isMerged, let last = versions.last { return .version(last) }
        var leading = self
        leading.members = membersWithTargets(for: hashes)
        return leading.targetOfMembers(for: hashes, along: links)
    }

    private func targetOfMembers(
        for hashes: [String: [UInt8]], along links: [(from: ModelVersion, to: ModelVersion)]
    ) -> Target {
        let holders = Set(members.filter { $0.hashes == hashes }.map(\.home))
        let ends = ends(of: holders.isEmpty ? Set(members.map(\.home)) : holders, along: links)
        var targets: [ModelVersion] = []
        for path in orderedPaths where ends.contains(path) {
            guard
                let target = current(of: path) ?? last(of: path, after: hashes, along: links)
                    ?? lastStore(of: path)
            else {
                return .noCurrent(distinctVersions(of: path))
            }
            if !targets.contains(where: { $0.hashes == target.hashes }) { targets.append(target) }
        }
        return targets.count == 1 ? .version(targets[0]) : .severalBundles(targets)
    }

    /// The members without stores beside bundles that only tell names: of a bundle's version, or of the store at hand.
    private func membersWithTargets(for hashes: [String: [UInt8]]) -> [ModelVersion] {
        let inBundles = members.filter { !$0.home.isEmpty }.map(\.hashes)
        guard !inBundles.isEmpty else { return members }
        return members.filter { !$0.isStore || ($0.hashes != hashes && !inBundles.contains($0.hashes)) }
    }

    /// Returns the version with the highest number, if all versions outside of bundles are stores with numbers.
    private func lastStore(of path: String) -> ModelVersion? {
        guard path.isEmpty, members.allSatisfy({ !$0.home.isEmpty || $0.isStore }) else { return nil }
        return numbered(distinctVersions(of: path).filter { $0.origin != .ownStore })?.last
    }

    /// Whether the target precedes the source; false for the current version of a bundle that holds both.
    package func isDowngrade(from source: ModelVersion, to target: ModelVersion) -> Bool {
        guard isBefore(target, source) else { return false }
        return !members.contains { current in
            current.isCurrent && current.hashes == target.hashes
                && members.contains { $0.home == current.home && $0.hashes == source.hashes }
        }
    }

    private var orderedPaths: [String] {
        versions.flatMap { version in members.filter { $0.hashes == version.hashes }.map(\.home) }.distinct
    }

    private func distinctVersions(of path: String) -> [ModelVersion] {
        let own = members.filter { $0.home == path }
        return versions.filter { version in own.contains { $0.hashes == version.hashes } }
    }

    /// Returns the only version of a bundle, or its current version; nil if the bundle names no current version.
    private func current(of path: String) -> ModelVersion? {
        let own = members.filter { $0.home == path }
        let marked = own.last(where: \.isCurrent)
        let isUnreadable = unreadable.contains { $0.bundle == own.first?.bundle }
        guard
            let hashes = (marked ?? (own.allSatisfy { $0.hashes == own[0].hashes } && !isUnreadable ? own[0] : nil))?
                .hashes
        else { return nil }
        let known = versions.filter { $0.hashes == hashes }
        return known.last { $0.home == path && $0.isCurrent } ?? known.last { $0.home == path } ?? known.last
    }

    /// Returns the only last version that mapping models reach from the store's version, or to which they led it; else nil.
    private func last(
        of path: String, after hashes: [String: [UInt8]], along links: [(from: ModelVersion, to: ModelVersion)]
    ) -> ModelVersion? {
        let own = links.filter { $0.from.home == path && $0.to.home == path }
        var reached = [hashes]
        var next = 0
        while next < reached.count {
            for link in own where link.from.hashes == reached[next] && !reached.contains(link.to.hashes) {
                reached.append(link.to.hashes)
            }
            next += 1
        }
        let ends = reached.filter { end in !own.contains { $0.from.hashes == end } }
        guard reached.count > 1 || own.contains(where: { $0.to.hashes == hashes }), ends.count == 1 else { return nil }
        return versions.last { $0.hashes == ends[0] }
    }

    /// Returns the bundles that mapping models reach from `start` and from which none leads to another bundle.
    private func ends(
        of start: Set<String>, along links: [(from: ModelVersion, to: ModelVersion)]
    ) -> Set<String> {
        let crossing = links.map { (from: $0.from.home, to: $0.to.home) }.filter { $0.from != $0.to }
        var reached = start
        var isChanged = true
        while isChanged {
            isChanged = false
            for link in crossing where reached.contains(link.from) && reached.insert(link.to).inserted {
                isChanged = true
            }
        }
        let ends = reached.filter { path in !crossing.contains { $0.from == path && reached.contains($0.to) } }
        // Every bundle of a cycle leads to another one.
        return ends.isEmpty ? start : ends
    }
}

/// Stores with less than a model version (the entities of a configuration) or more (models that the app merges).
extension ModelCatalog {
    /// Returns the catalog adapted to a store with these hashes; see ``fitted(to:target:)``.
    package func fitted(to hashes: [String: [UInt8]]) -> ModelCatalog {
        guard versions(matching: hashes).isEmpty else { return self }
        if let configuration = configuration(of: hashes) { return restricted(to: configuration) }
        return merged(for: hashes, wanted: nil) ?? self
    }

    /// Returns the catalog adapted to a store with these hashes, for a migration.
    ///
    /// If no version matches the whole store, the entities of one configuration may match, or versions of several
    /// bundles together. The catalog then holds these parts, or unions: from the store's own union on, bundle by bundle
    /// and version by version, to each bundle's current version. A requested target replaces only its own bundle's
    /// current version.
    ///
    /// - Throws: `.unsupported` if the target lacks the configuration; `.noSuchVersion` and `.ambiguousVersion`.
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
        let names = Set(versions.flatMap(\.model.configurations.keys)).inOrder(by: codeUnitOrder)
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
            "The store was created for the configuration \(configuration), which version \(displayName(of: version)) does not "
                + "have, or not with everything that its entities refer to.",
            remedy: "Give that version a configuration of the same name with the entities of this store.")
    }

    // MARK: Merged models

    private func merged(for hashes: [String: [UInt8]], wanted: ModelVersion?) -> ModelCatalog? {
        var parts: [(versions: [ModelVersion], index: Int)] = []
        for (_, bundle) in versions.filter({ $0.origin == .file }).groups(by: Self.bundlePath) {
            let fitting = bundle.indices.filter { index in
                !bundle[index].hashes.isEmpty && bundle[index].hashes.allSatisfy { hashes[$0.key] == $0.value }
            }
            // Of several versions, the one with the most entities of the store; of equal ones the last.
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
            let target = Self.targetIndex(of: part.versions, wanted: wanted) ?? part.index
            for index in stride(from: part.index, to: target, by: target < part.index ? -1 : 1) {
                parts[place].index = target < part.index ? index - 1 : index + 1
                guard let next = ModelVersion(merging: parts.map { $0.versions[$0.index] }) else { return nil }
                catalog.versions.append(next)
            }
        }
        catalog.versions[catalog.versions.endIndex - 1].isCurrent = true
        return catalog
    }

    /// Returns the index of the requested version, or of the current one; nil if the bundle names no current version.
    private static func targetIndex(of bundle: [ModelVersion], wanted: ModelVersion?) -> Int? {
        if let wanted, let index = bundle.firstIndex(where: { $0.path == wanted.path }) { return index }
        return bundle.count == 1 ? 0 : bundle.lastIndex(where: \.isCurrent)
    }
}

extension ModelVersion {
    /// The bundle's path, without extension; empty for all versions outside of bundles.
    fileprivate var home: String { bundle == nil ? "" : ModelCatalog.bundlePath(of: self) }

    /// Returns the version with one configuration's entities; nil if there are none, or they refer to other entities.
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
            configurations: [configuration: names.inOrder(by: codeUnitOrder)], composites: model.composites)
        version.hashes = hashes.filter { kept.contains($0.key) }
        return version
    }

    /// Merges models as the app does; nil if two have different entities or composites under one name.
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
        let identifiers = Set(versions.flatMap(\.model.versionIdentifiers)).inOrder(by: codeUnitOrder)
        self.init(
            name: versions.map(\.name).joined(separator: " + "), bundle: nil,
            path: versions.map(\.path).joined(separator: " + "), isCurrent: false,
            model: ManagedObjectModel(
                versionIdentifiers: identifiers, entities: Array(entities.values), composites: composites),
            hashes: hashes)
        parts = versions.map(\.path)
    }
}
