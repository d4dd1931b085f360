/// Where a migration leads when nothing is said about it.
extension ModelCatalog {
    /// A version as one bundle has it.
    struct Member: Sendable {
        /// The bundle; all versions that are in none share one.
        var home: String
        var bundle: String?
        var isCurrent: Bool
        var hashes: [String: [UInt8]]

        init(_ version: ModelVersion) {
            home = version.bundle == nil ? "" : ModelCatalog.home(of: version)
            bundle = version.bundle
            isCurrent = version.isCurrent
            hashes = version.hashes
        }
    }

    /// The version that a migration of a store leads to, or why that is open.
    package enum Target: Sendable {
        case version(ModelVersion)
        /// Several bundles know the store's version and lead to different ones.
        case severalBundles([ModelVersion])
        /// The bundle does not say which of its versions is the current one.
        case noCurrent([ModelVersion])
    }

    /// The version that a migration leads to when none is named: the current one of the bundle that knows the store's
    /// version, or of those that mapping models lead to from there.
    ///
    /// - Parameters:
    ///   - hashes: The store's.
    ///   - links: Between which versions mapping models stand.
    /// - Returns: A version, or the candidates.
    package func target(
        for hashes: [String: [UInt8]], along links: [(from: ModelVersion, to: ModelVersion)]
    ) -> Target {
        if isMerged, let last = versions.last { return .version(last) }
        let knowing = Set(members.filter { $0.hashes == hashes }.map(\.home))
        let ends = ends(of: knowing.isEmpty ? Set(members.map(\.home)) : knowing, along: links)
        var targets: [ModelVersion] = []
        for home in homesInOrder where ends.contains(home) {
            guard let target = current(of: home) ?? last(of: home, after: hashes, along: links) else {
                return .noCurrent(distinctVersions(of: home))
            }
            if !targets.contains(where: { $0.hashes == target.hashes }) { targets.append(target) }
        }
        return targets.count == 1 ? .version(targets[0]) : .severalBundles(targets)
    }

    /// Whether a migration goes back: to a version that stands before the store's, but for the current one of a bundle
    /// that has both.
    package func isDowngrade(from source: ModelVersion, to target: ModelVersion) -> Bool {
        guard isBefore(target, source) else { return false }
        return !members.contains { current in
            current.isCurrent && current.hashes == target.hashes
                && members.contains { $0.home == current.home && $0.hashes == source.hashes }
        }
    }

    private var homesInOrder: [String] {
        var homes: [String] = []
        for version in versions {
            for member in members where member.hashes == version.hashes && !homes.contains(member.home) {
                homes.append(member.home)
            }
        }
        return homes
    }

    private func distinctVersions(of home: String) -> [ModelVersion] {
        let own = members.filter { $0.home == home }
        return versions.filter { version in own.contains { $0.hashes == version.hashes } }
    }

    /// The only version of a bundle, or the one that it names as current; nil when it does not say.
    private func current(of home: String) -> ModelVersion? {
        let own = members.filter { $0.home == home }
        let marked = own.last(where: \.isCurrent)
        let isUnreadable = unreadable.contains { $0.bundle == own.first?.bundle }
        guard
            let hashes = (marked ?? (own.allSatisfy { $0.hashes == own[0].hashes } && !isUnreadable ? own[0] : nil))?
                .hashes
        else { return nil }
        let known = versions.filter { $0.hashes == hashes }
        return known.last { Member($0).home == home && $0.isCurrent } ?? known.last { Member($0).home == home }
            ?? known.last
    }

    /// The one version to which mapping models lead from the store's without leading on; nil without such models.
    private func last(
        of home: String, after hashes: [String: [UInt8]], along links: [(from: ModelVersion, to: ModelVersion)]
    ) -> ModelVersion? {
        let own = links.filter { Member($0.from).home == home && Member($0.to).home == home }
        var reached = [hashes]
        var next = 0
        while next < reached.count {
            for link in own where link.from.hashes == reached[next] && !reached.contains(link.to.hashes) {
                reached.append(link.to.hashes)
            }
            next += 1
        }
        let ends = reached.filter { end in !own.contains { $0.from.hashes == end } }
        guard reached.count > 1, ends.count == 1 else { return nil }
        return versions.last { $0.hashes == ends[0] }
    }

    /// The bundles from which no mapping model leads on to another one, of those and of all that are led to from them.
    private func ends(
        of start: Set<String>, along links: [(from: ModelVersion, to: ModelVersion)]
    ) -> Set<String> {
        let crossing = links.map { (from: Member($0.from).home, to: Member($0.to).home) }.filter { $0.from != $0.to }
        var reached = start
        var isChanged = true
        while isChanged {
            isChanged = false
            for link in crossing where reached.contains(link.from) && reached.insert(link.to).inserted {
                isChanged = true
            }
        }
        let ends = reached.filter { home in !crossing.contains { $0.from == home && reached.contains($0.to) } }
        // Bundles that lead to each other in a circle end nowhere.
        return ends.isEmpty ? start : ends
    }
}
