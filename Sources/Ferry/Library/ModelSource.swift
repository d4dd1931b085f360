internal import FerryBase
public import Foundation

/// The location of model versions: `.xcdatamodeld`, `.xcdatamodel`, `.momd`, `.mom`, a store, or a folder of them.
///
/// A store that an app made is the version with the model that it holds. If it is the target of a migration, the
/// migrated store gets its tables, columns, entity numbers, indexes and triggers, as with ``Configuration/like``.
public struct ModelSource: Sendable, Hashable {
    package var path: String
    /// The name of a store's version; nil for its version identifier, or the name of its file.
    package var name: String?

    package init(path: String, name: String? = nil) {
        self.path = path
        self.name = name
    }

    public static func url(_ url: URL) -> ModelSource { ModelSource(path: url.filePath) }

    /// A store whose model is a version.
    ///
    /// - Parameters:
    ///   - url: The store's main file; it is read only.
    ///   - name: The version's name; nil for the version identifier in the store, else the name of the file.
    /// - Returns: The source.
    public static func store(_ url: URL, named name: String? = nil) -> ModelSource {
        ModelSource(path: url.filePath, name: name)
    }
}

extension URL {
    /// The path for system calls: decoded, without a trailing slash.
    package var filePath: String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}

extension Migrator {
    /// Reads the models and mapping models in bundles, where Xcode or SwiftPM has put them.
    ///
    /// - Parameters:
    ///   - store: The store's main file.
    ///   - bundles: `.main`, a framework's, or a package's `.module`; models of other stores in them do no harm.
    ///   - mappings: Further mapping models, such as Ferry's JSON, which has no file extension of its own.
    ///   - policies: As in ``init(store:models:mappings:policies:)``.
    /// - Throws: ``FerryError`` as ``init(store:models:mappings:policies:)`` does; `.notFound` without a model.
    public init(
        store: URL, bundles: [Bundle], mappings: [URL] = [], policies: [String: PolicyFactory] = [:]
    ) throws {
        let models = bundles.flatMap(ModelSource.all(in:))
        guard !models.isEmpty else {
            throw FerryError(
                .notFound, "There is no model in \(bundles.map(\.bundlePath).joined(separator: ", ")).",
                remedy: "Add the model to the resources of the target, or give its URL.")
        }
        try self.init(
            store: store, models: models, mappings: bundles.flatMap(Self.mappingModels(in:)) + mappings,
            policies: policies)
    }
}

extension ModelSource {
    /// The models in a bundle: compiled ones (`.momd`, and `.mom` beside them), and uncompiled sources, as on Linux.
    public static func all(in bundle: Bundle) -> [ModelSource] {
        bundle.resources(["momd", "mom", "xcdatamodeld", "xcdatamodel"]).map { .url($0) }
    }
}

extension Migrator {
    /// The mapping models in a bundle: compiled ones (`.cdm`), and their sources if nothing compiles them.
    public static func mappingModels(in bundle: Bundle) -> [URL] { bundle.resources(["cdm", "xcmappingmodel"]) }
}

extension Bundle {
    /// The bundle's own resources with these extensions, in an order that does not depend on the file system.
    fileprivate func resources(_ endings: [String]) -> [URL] {
        endings.flatMap { ending in
            paths(forResourcesOfType: ending, inDirectory: nil)
                .inOrder { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { URL(fileURLWithPath: $0) }
        }
    }
}
