package import FerryBase

/// The model versions of a run, in version order.
package struct ModelCatalog: Sendable {
    /// All versions that could be read, oldest first.
    package var versions: [ModelVersion]
    /// Versions of bundles that could not be read, because Ferry does not support their form.
    package var unreadable: [UnreadableVersion]

    /// Reads the models at these paths: `.xcdatamodeld`, `.xcdatamodel`, `.momd`, `.mom`, or folders with some of them.
    ///
    /// Order: by model version identifier if each version has its own whole number. Otherwise bundles by natural order
    /// of their paths; in a bundle first the version with the bundle's name, then by natural order of names. The
    /// catalog keeps one copy of a version that occurs twice (source and compiled).
    ///
    /// A store is a model where `readStore` reads them; `places` may name its version.
    ///
    /// - Throws: `.notFound` if a path holds no model; `.badModel` if a model is damaged or no model is readable.
    package init(
        places: [(path: String, name: String?)], files: FileLayer = FileLayer(), readStore: StoreModelReader? = nil
    ) throws(FerryError) {
        var reader = ModelFiles(files: files, readStore: readStore)
        try WorkThread.withStack { () throws(FerryError) in for place in places { try reader.read(place) } }
        if reader.versions.isEmpty, let first = reader.unreadable.first { throw first.error }
        self.init(versions: Self.withStoresNamed(reader.versions), unreadable: reader.unreadable)
    }

    package init(paths: [String], files: FileLayer = FileLayer()) throws(FerryError) {
        try self.init(places: paths.map { ($0, nil) }, files: files)
    }

    /// The criterion of the versions' order.
    package enum Order: Sendable { case identifiers, names, bundlesAsMapped }

    package private(set) var order: Order
    /// The versions of each bundle, also if the catalog keeps the version as that of another bundle.
    var members: [ModelVersion]
    /// Whether the versions are unions of versions of several bundles, in the order of a migration.
    package internal(set) var isMerged = false

    /// The stores that were given as models, or lie in a folder that was.
    package private(set) var stores: [ModelVersion]

    /// Orders versions that are already read.
    package init(versions: [ModelVersion], unreadable: [UnreadableVersion] = []) {
        stores = versions.filter(\.isStore)
        // A store that only lies in a folder adds no second name to a version.
        let named = versions.enumerated().filter { place, version in
            guard case .store(_, isGiven: false) = version.origin else { return true }
            return !versions.enumerated().contains { other, known in
                known.hashes == version.hashes && (other < place || !known.isFoundStore)
            }
        }.map(\.element)
        members = named
        (self.versions, order) = Self.ordered(Self.distinct(named))
        self.unreadable = unreadable
    }

    // MARK: Names

    /// Returns the version's display name: its name if unique, else with its bundle, else its path.
    package func displayName(of version: ModelVersion) -> String {
        if versions.count(where: { $0.name == version.name }) <= 1 { return version.name }
        if versions.count(where: { $0.qualifiedName == version.qualifiedName }) <= 1 { return version.qualifiedName }
        return version.path
    }

    /// Finds a version by its name, by `Bundle/Name`, or by the end of its path in the notation of mapping models
    /// (`Project/Model.xcdatamodeld/Model 2.xcdatamodel`).
    ///
    /// - Throws: `.ambiguousVersion` or `.noSuchVersion` with the candidates, `.badModel` if the version is unreadable.
    package func version(named name: String) throws(FerryError) -> ModelVersion {
        let stem = ModelFiles.stem(of: name)
        let folder = FileLayer.parent(of: name)
        let bundle = ModelFiles.isBundle(folder) ? ModelFiles.stem(of: folder) : nil
        // The first rule with a match decides. The last rule is for renamed bundles.
        let rules: [(ModelVersion) -> Bool] = [
            { $0.path == name },
            { $0.name == name || $0.qualifiedName == name },
            { $0.path.hasSuffix("/" + name) },
            { $0.isStore && [FileLayer.name(of: $0.path), $0.fileStem].contains(name) },
            { bundle != nil && $0.bundle == bundle && $0.name == stem },
            { stem != FileLayer.name(of: name) && $0.name == stem },
        ]
        for rule in rules {
            let found = versions.filter(rule)
            if found.count == 1 { return found[0] }
            if found.count > 1 {
                throw FerryError(
                    .ambiguousVersion,
                    "The name '\(name)' matches \(found.count) model versions: \(Self.list(found.map(displayName(of:)))).",
                    remedy: "Use one of these names.")
            }
        }
        if let found = unreadable.first(where: {
            $0.name == stem && (bundle == nil || $0.bundle == nil || $0.bundle == bundle)
        }) {
            throw found.error
        }
        throw FerryError(
            .noSuchVersion, "There is no model version '\(name)'.",
            remedy: versions.isEmpty
                ? "Give the models with \(setting: .models)."
                : "There are: \(Self.list(versions.map(displayName(of:)))).")
    }

    private static func list(_ names: [String]) -> String { names.map { "'\($0)'" }.joined(separator: ", ") }

    // MARK: Hashes

    /// Returns all versions with exactly these hashes; several differ only in facts that the hash leaves out.
    package func versions(matching hashes: [String: [UInt8]]) -> [ModelVersion] {
        versions.filter { $0.hashes == hashes }
    }

    /// Returns the version with the fewest differing entities, and their names; of several the latest, and nil if no
    /// version has an entity name in common with the hashes.
    package func nearest(to hashes: [String: [UInt8]]) -> (version: ModelVersion, differs: [String])? {
        var nearest: (version: ModelVersion, differs: [String])?
        for version in versions where version.hashes.keys.contains(where: { hashes[$0] != nil }) {
            let differs = Set(version.hashes.keys).union(hashes.keys)
                .filter { version.hashes[$0] != hashes[$0] }.inOrder(by: codeUnitOrder)
            if nearest == nil || differs.count <= nearest!.differs.count { nearest = (version, differs) }
        }
        return nearest
    }

    // MARK: Default target

    /// Returns the default target of a migration.
    ///
    /// The result is the only version, or the version that its bundle names as current; with several bundles, the last
    /// bundle decides. The result is nil if that bundle names no readable current version.
    package func currentVersion() -> ModelVersion? {
        if versions.count == 1, unreadable.isEmpty { return versions[0] }
        guard let last = versions.last else { return nil }
        let lastBundle = versions.filter { Self.bundlePath(of: $0) == Self.bundlePath(of: last) }
        if let current = lastBundle.last(where: \.isCurrent) { return current }
        let unreadableHere = unreadable.contains { $0.bundle == last.bundle }
        return lastBundle.count == 1 && !unreadableHere ? last : nil
    }

    mutating func insert(own version: ModelVersion) {
        let (sorted, newOrder) = Self.ordered(versions + [version])
        guard !versions.isEmpty, order == .identifiers, newOrder == .identifiers else {
            versions.insert(version, at: 0)
            if order == .identifiers { order = .names }
            return
        }
        versions = sorted
    }

    // MARK: Order

    /// Whether a version precedes another one; false if the catalog lacks one of them.
    package func isBefore(_ version: ModelVersion, _ other: ModelVersion) -> Bool {
        guard let first = place(of: version), let second = place(of: other) else { return false }
        return first < second
    }

    /// Returns the version's index; for a version from another file, the index of the version with its hashes.
    private func place(of version: ModelVersion) -> Int? {
        versions.firstIndex { $0.path == version.path && $0.hashes == version.hashes }
            ?? versions.lastIndex { $0.hashes == version.hashes }
    }

    /// Keeps the first of several equal versions.
    private static func distinct(_ versions: [ModelVersion]) -> [ModelVersion] {
        var distinct: [ModelVersion] = []
        for version in versions {
            if let known = distinct.firstIndex(where: {
                $0.qualifiedName == version.qualifiedName && $0.hashes == version.hashes
            }) {
                distinct[known].isCurrent = distinct[known].isCurrent || version.isCurrent
            } else {
                distinct.append(version)
            }
        }
        return distinct
    }

    private static func ordered(_ versions: [ModelVersion]) -> ([ModelVersion], Order) {
        let numbers = versions.compactMap(VersionNumber.init)
        if numbers.count == versions.count, Set(numbers).count == numbers.count {
            return (zip(numbers, versions).inOrder { $0.0 < $1.0 }.map(\.1), .identifiers)
        }
        let byName = versions.inOrder { left, right in
            let (first, second) = (bundlePath(of: left), bundlePath(of: right))
            if first != second { return naturalOrder(first, second) }
            let (leads, follows) = (left.name == left.bundle, right.name == right.bundle)
            if leads != follows { return leads }
            return naturalOrder(left.name, right.name)
        }
        return (byName, .names)
    }

    /// Orders bundles along links between their versions; bundles without a link keep the order of their paths.
    ///
    /// Versions ordered by identifier keep their order, and a cycle of links changes no order.
    package mutating func orderBundles(along links: [(from: ModelVersion, to: ModelVersion)]) {
        guard order != .identifiers else { return }
        var paths: [String] = []
        for path in versions.map(Self.bundlePath) where paths.last != path { paths.append(path) }
        var before: [String: Set<String>] = [:]
        for link in links where Self.bundlePath(of: link.from) != Self.bundlePath(of: link.to) {
            before[Self.bundlePath(of: link.to), default: []].insert(Self.bundlePath(of: link.from))
        }
        var ordered: [String] = []
        var waiting = paths
        while !waiting.isEmpty {
            guard let next = waiting.firstIndex(where: { before[$0]?.isDisjoint(with: waiting) ?? true }) else {
                return
            }
            ordered.append(waiting.remove(at: next))
        }
        guard ordered != paths else { return }
        versions = ordered.flatMap { path in versions.filter { Self.bundlePath(of: $0) == path } }
        order = .bundlesAsMapped
    }

    /// Returns the bundle's path, or a lone version's, without extension: source and compiled bundle share it.
    static func bundlePath(of version: ModelVersion) -> String {
        let path = version.bundle == nil ? version.path : FileLayer.parent(of: version.path)
        return path.dropLast(FileLayer.name(of: path).count) + ModelFiles.stem(of: path)
    }
}

/// A model version as found in a file or a store, with its version hashes.
package struct ModelVersion: Sendable {
    /// The file's name without extension (`Model 2`).
    package var name: String
    /// The bundle's name without extension (`Model` of `Model.xcdatamodeld` or `Model.momd`), or nil for a lone model.
    package var bundle: String?
    /// The version's file or folder; for a model cached in a store, the store's path.
    package var path: String
    /// Whether the bundle names it as its current version.
    package var isCurrent: Bool
    package var model: ManagedObjectModel
    /// Entity name to 32 bytes.
    package var hashes: [String: [UInt8]]
    /// The paths of the models that the app merges into this version; empty for a single model.
    package internal(set) var parts: [String] = []
    package var origin = Origin.file
    /// The SHA-256 of the archived model in a store, in hexadecimal: the store's rows may change, and it may be moved.
    package var archiveDigest: String?

    /// Where a version was found.
    package enum Origin: Sendable, Hashable {
        case file
        /// The model that a store holds, which was given itself (perhaps with a name), or in a folder.
        case store(isNamed: Bool, isGiven: Bool)
        /// The model that the store to be migrated holds, which was not given.
        case ownStore
    }

    package init(
        name: String, bundle: String?, path: String, isCurrent: Bool, model: ManagedObjectModel,
        hashes: [String: [UInt8]]
    ) {
        self.name = name
        self.bundle = bundle
        self.path = path
        self.isCurrent = isCurrent
        self.model = model
        self.hashes = hashes
    }

    /// `Bundle/Name`, for versions whose name alone is not unique.
    package var qualifiedName: String { bundle.map { "\($0)/\(name)" } ?? name }
}

/// Orders texts with numbers by value.
///
/// Digits compare as numbers (`Model 2` before `Model 10`), letters without case; the order is total.
package func naturalOrder(_ left: String, _ right: String) -> Bool {
    let (first, second) = (Array(left.unicodeScalars), Array(right.unicodeScalars))
    var (i, j) = (0, 0)
    while i < first.count, j < second.count {
        if isDigit(first[i]), isDigit(second[j]) {
            let (a, b) = (number(in: first, at: &i), number(in: second, at: &j))
            if a.count != b.count { return a.count < b.count }
            if a != b { return a.lexicographicallyPrecedes(b) }
        } else {
            let (a, b) = (folded(first[i]), folded(second[j]))
            if a != b { return a < b }
            i += 1
            j += 1
        }
    }
    if (i < first.count) != (j < second.count) { return i == first.count }
    return codeUnitOrder(left, right)
}

private func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

/// Reads digits without leading zeros: comparing their length, then each digit, cannot overflow.
private func number(in scalars: [Unicode.Scalar], at position: inout Int) -> ArraySlice<Unicode.Scalar> {
    let start = position
    while position < scalars.count, isDigit(scalars[position]) { position += 1 }
    return scalars[start..<position].drop { $0 == "0" }
}

private func folded(_ scalar: Unicode.Scalar) -> String { scalar.properties.lowercaseMapping }
