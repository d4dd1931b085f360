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
