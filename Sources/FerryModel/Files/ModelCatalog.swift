package import FerryBase

/// The model versions of a run, in version order.
package struct ModelCatalog: Sendable {
    /// All versions that could be read, oldest first.
    package var versions: [ModelVersion]
    /// Versions of bundles that could not be read, because they are in a form that is not supported.
    package var unreadable: [UnreadableVersion]

    /// Reads the models at these paths: `.xcdatamodeld`, `.xcdatamodel`, `.momd`, `.mom`, or folders with some of them.
    ///
    /// Order: by model version identifier where every version has its own whole number; else bundles in natural order
    /// of their paths, and in a bundle the version named like it first, then by natural order of names. A version that
    /// is there twice (source and compiled) is kept once.
    ///
    /// - Throws: `.notFound` when a path leads to no model; `.badModel` when a model is damaged, or when none of those
    ///   given can be read.
    package init(paths: [String], files: FileLayer = FileLayer()) throws(FerryError) {
        var reader = ModelFiles(files: files)
        try WorkThread.withStack { () throws(FerryError) in for path in paths { try reader.read(path) } }
        if reader.versions.isEmpty, let first = reader.unreadable.first { throw first.error }
        self.init(versions: reader.versions, unreadable: reader.unreadable)
    }

    /// What the versions are in the order of.
    package enum Order: Sendable { case identifiers, names, bundlesAsMapped }

    package private(set) var order: Order
    /// What each bundle has, also where a version is kept as that of another bundle.
    var members: [Member]
    /// Whether the versions are unions of several bundles' ones, in the order of a migration.
    package internal(set) var isMerged = false

    /// Puts versions that are known already in order.
    package init(versions: [ModelVersion], unreadable: [UnreadableVersion] = []) {
        members = versions.map(Member.init)
        (self.versions, order) = Self.ordered(Self.distinct(versions))
        self.unreadable = unreadable
    }

    // MARK: Names

    /// The name by which the version is shown: its own if no other has it, else with its bundle, else its path.
    package func displayName(of version: ModelVersion) -> String {
        if versions.count(where: { $0.name == version.name }) <= 1 { return version.name }
        if versions.count(where: { $0.qualifiedName == version.qualifiedName }) <= 1 { return version.qualifiedName }
        return version.path
    }

    /// Finds a version by its name, by `Bundle/Name`, or by the end of its path as mapping models write it
    /// (`Project/Model.xcdatamodeld/Model 2.xcdatamodel`).
    ///
    /// - Throws: `.ambiguousVersion` with the candidates, `.noSuchVersion` with all there are, `.badModel` when the
    ///   version is there but cannot be read.
    package func version(named name: String) throws(FerryError) -> ModelVersion {
        let stem = ModelFiles.stem(of: name)
        let folder = FileLayer.parent(of: name)
        let bundle = ModelFiles.isBundle(folder) ? ModelFiles.stem(of: folder) : nil
        // The first rule that finds any decides. The last is for bundles that were renamed since.
        let rules: [(ModelVersion) -> Bool] = [
            { $0.path == name },
            { $0.name == name || $0.qualifiedName == name },
            { $0.path.hasSuffix("/" + name) },
            { bundle != nil && $0.bundle == bundle && $0.name == stem },
            { stem != FileLayer.name(of: name) && $0.name == stem },
        ]
        for rule in rules {
            let found = versions.filter(rule)
            if found.count == 1 { return found[0] }
            if found.count > 1 {
                throw FerryError(
                    .ambiguousVersion,
                    "The name '\(name)' fits \(found.count) model versions: \(Self.list(found.map(displayName(of:)))).",
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

    /// All versions with exactly these hashes; several when they differ only in what is not hashed.
    package func versions(matching hashes: [String: [UInt8]]) -> [ModelVersion] {
        versions.filter { $0.hashes == hashes }
    }

    /// The version with the fewest entities that differ, and their names; of several the latest, and nil when no version
    /// has an entity in common with the hashes.
    package func nearest(to hashes: [String: [UInt8]]) -> (version: ModelVersion, differs: [String])? {
        var nearest: (version: ModelVersion, differs: [String])?
        for version in versions where version.hashes.keys.contains(where: { hashes[$0] != nil }) {
            let differs = Set(version.hashes.keys).union(hashes.keys)
                .filter { version.hashes[$0] != hashes[$0] }.sorted(by: codeUnitOrder)
            if nearest == nil || differs.count <= nearest!.differs.count { nearest = (version, differs) }
        }
        return nearest
    }

    // MARK: Default target

    /// The version that a migration leads to when none is named.
    ///
    /// It is the only one there is, or the one that its bundle names as current; of several bundles the last one's.
    /// Nil when that bundle names none that can be read.
    package func currentVersion() -> ModelVersion? {
        if versions.count == 1, unreadable.isEmpty { return versions[0] }
        let lastBundle = lastBundle
        guard let last = lastBundle.last else { return nil }
        if let current = lastBundle.last(where: \.isCurrent) { return current }
        let unreadableHere = unreadable.contains { $0.bundle == last.bundle }
        return lastBundle.count == 1 && !unreadableHere ? last : nil
    }

    /// The versions of the last bundle.
    private var lastBundle: [ModelVersion] {
        guard let last = versions.last else { return [] }
        return versions.filter { Self.home(of: $0) == Self.home(of: last) }
    }

    // MARK: Order

    /// Whether a version stands before another one; false when one of them is none of the catalog's.
    package func isBefore(_ version: ModelVersion, _ other: ModelVersion) -> Bool {
        guard let first = place(of: version), let second = place(of: other) else { return false }
        return first < second
    }

    /// The place of a version in the order; of one that was read from elsewhere that of its hashes.
    private func place(of version: ModelVersion) -> Int? {
        versions.firstIndex { $0.path == version.path && $0.hashes == version.hashes }
            ?? versions.lastIndex { $0.hashes == version.hashes }
    }

    /// The same version, read twice, is kept where it was read first.
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
        let numbers = versions.map { version in
            version.model.versionIdentifiers.count == 1 ? Int(version.model.versionIdentifiers[0]) : nil
        }
        if numbers.allSatisfy({ $0 != nil }), Set(numbers).count == numbers.count {
            return (zip(numbers, versions).sorted { $0.0 ?? 0 < $1.0 ?? 0 }.map(\.1), .identifiers)
        }
        let byName = versions.sorted { left, right in
            let (first, second) = (home(of: left), home(of: right))
            if first != second { return naturalOrder(first, second) }
            let (leads, follows) = (left.name == left.bundle, right.name == right.bundle)
            if leads != follows { return leads }
            return naturalOrder(left.name, right.name)
        }
        return (byName, .names)
    }

    /// Puts bundles in the order in which links between their versions lead, those that none parts in that of their
    /// paths; versions that identifiers order stay.
    ///
    /// Links that go round in a circle order nothing.
    package mutating func orderBundles(along links: [(from: ModelVersion, to: ModelVersion)]) {
        guard order != .identifiers else { return }
        var homes: [String] = []
        for version in versions where homes.last != Self.home(of: version) { homes.append(Self.home(of: version)) }
        var before: [String: Set<String>] = [:]
        for link in links where Self.home(of: link.from) != Self.home(of: link.to) {
            before[Self.home(of: link.to), default: []].insert(Self.home(of: link.from))
        }
        var ordered: [String] = []
        var waiting = homes
        while !waiting.isEmpty {
            guard let next = waiting.firstIndex(where: { before[$0]?.isDisjoint(with: waiting) ?? true }) else {
                return
            }
            ordered.append(waiting.remove(at: next))
        }
        guard ordered != homes else { return }
        versions = ordered.flatMap { home in versions.filter { Self.home(of: $0) == home } }
        order = .bundlesAsMapped
    }

    /// The path of the bundle, or of the version itself when it is in none, without extension: a source bundle and
    /// the compiled one beside it are one.
    static func home(of version: ModelVersion) -> String {
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
    /// The paths of the models that an app merges into this one; empty when it is one model.
    package internal(set) var parts: [String] = []

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

    /// `Bundle/Name`, the form that is unique where the name alone is not.
    package var qualifiedName: String { bundle.map { "\($0)/\(name)" } ?? name }
}

/// Ascending as people count.
///
/// Runs of digits go by their number (`Model 2` before `Model 10`), the rest by letter, upper and lower case together.
/// Different texts are never equal, so the order is total.
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

/// The digits from a position on, without leading zeros: compared by length, then by digit, they never overflow.
private func number(in scalars: [Unicode.Scalar], at position: inout Int) -> ArraySlice<Unicode.Scalar> {
    let start = position
    while position < scalars.count, isDigit(scalars[position]) { position += 1 }
    return scalars[start..<position].drop { $0 == "0" }
}

private func folded(_ scalar: Unicode.Scalar) -> String { scalar.properties.lowercaseMapping }
