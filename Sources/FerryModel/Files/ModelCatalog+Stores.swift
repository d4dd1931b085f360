internal import FerryBase

/// Versions whose model a store holds.
extension ModelCatalog {
    /// Names stores without a given name by their version identifier, or by their file where it is not unique.
    package static func withStoresNamed(_ versions: [ModelVersion]) -> [ModelVersion] {
        versions.map { version in
            guard version.origin != .file, !version.isNamed else { return version }
            var named = version
            named.name = FileLayer.name(of: version.path)
            guard let identifier = version.soleIdentifier else { return named }
            let isUnique = versions.allSatisfy { other in
                other.hashes == version.hashes
                    || (other.name != identifier && (!other.isStore || other.soleIdentifier != identifier))
            }
            if isUnique { named.name = identifier }
            return named
        }
    }

    /// Whether a store was given as a model; a folder may hold the migrated store by chance.
    package func hasStores(besides path: String) -> Bool {
        stores.contains { !$0.isFoundStore || $0.path != path }
    }

    /// The catalog with the model that the store to be migrated holds, if no version has its hashes.
    ///
    /// It comes before all others unless its version identifier tells its place.
    package func adding(own version: ModelVersion) -> ModelCatalog {
        guard versions(matching: version.hashes).isEmpty else { return self }
        var version = version
        version.origin = .ownStore
        version = Self.withStoresNamed(versions + [version]).last ?? version
        var catalog = self
        catalog.insert(own: version)
        return catalog
    }

    /// The catalog with the version of the store to be migrated before all others, if only stores have it.
    ///
    /// The names of their files say nothing of its age; names that were given to all versions do, and version identifiers.
    package func beginning(with hashes: [String: [UInt8]]) -> ModelCatalog {
        let own = versions(matching: hashes)
        guard order != .identifiers, !own.isEmpty, own.allSatisfy(\.isStore),
            !own.contains(where: \.isNamed) || !versions.allSatisfy(\.isStore)
        else { return self }
        var catalog = self
        catalog.versions = own + versions.filter { $0.hashes != hashes }
        return catalog
    }

    /// The versions of a group of stores in the order of their numbers; nil if not every one has its own.
    func numbered(_ group: [ModelVersion]) -> [ModelVersion]? {
        let numbers = group.compactMap(VersionNumber.init)
        guard !group.isEmpty, numbers.count == group.count, Set(numbers).count == numbers.count else { return nil }
        return zip(numbers, group).inOrder { $0.0 < $1.0 }.map(\.1)
    }
}

extension ModelVersion {
    /// Whether a store holds the model, and was given for it or lies in a folder that was given.
    package var isStore: Bool { if case .store = origin { true } else { false } }

    /// Whether the store only lies in a folder that was given.
    package var isFoundStore: Bool { if case .store(_, isGiven: false) = origin { true } else { false } }

    fileprivate var isNamed: Bool { if case .store(isNamed: true, _) = origin { true } else { false } }

    fileprivate var soleIdentifier: String? {
        guard model.versionIdentifiers.count == 1, let only = model.versionIdentifiers.first, !only.isEmpty else {
            return nil
        }
        return only
    }

    /// The name of the file without the extension.
    var fileStem: String { FileLayer.parts(of: path).stem }
}

/// A version identifier that is a number, or numbers with dots between them (`1.2.0`).
struct VersionNumber: Hashable, Comparable {
    private let parts: [Int]

    init?(_ version: ModelVersion) {
        guard version.model.versionIdentifiers.count == 1 else { return nil }
        let fields = version.model.versionIdentifiers[0].split(separator: ".", omittingEmptySubsequences: false)
        var parts = fields.compactMap { Int($0) }
        guard parts.count == fields.count, parts.allSatisfy({ $0 >= 0 }) else { return nil }
        // 1.0 and 1.0.0 are one number.
        while parts.count > 1, parts.last == 0 { parts.removeLast() }
        self.parts = parts
    }

    static func < (left: VersionNumber, right: VersionNumber) -> Bool {
        left.parts.lexicographicallyPrecedes(right.parts)
    }
}
