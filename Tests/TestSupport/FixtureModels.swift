internal import FerryBase
package import FerryModel
package import FerrySQLite
package import FerryStore
internal import Foundation

/// The models of the fixture stores.
package enum FixtureModels {
    /// Returns every readable model source below a folder of the fixtures, with its hashes.
    package static func sources(below folder: String) throws -> [ModelVersion] {
        guard let files = FileManager.default.enumerator(atPath: Fixtures.path(folder)) else { return [] }
        var versions: [ModelVersion] = []
        while let file = files.nextObject() as? String {
            guard file.hasSuffix(".xcdatamodel/contents") else { continue }
            let path = Fixtures.path(folder + "/" + file)
            let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
            let model = try SourceModel.readUnchecked(bytes, path: path)
            let version = URL(fileURLWithPath: path).deletingLastPathComponent().deletingPathExtension()
            versions.append(
                ModelVersion(
                    name: version.lastPathComponent, bundle: nil, path: path, isCurrent: false, model: model,
                    hashes: VersionHash.hashes(of: model)))
        }
        return versions.sorted { $0.path < $1.path }
    }

    /// Returns the model that a fixture store was written with: the cached one, else the source with equal hashes.
    ///
    /// - Parameters:
    ///   - relative: The store's path below ``Fixtures/root``.
    ///   - connection: A connection to a copy of the store.
    ///   - metadata: The store's metadata.
    /// - Returns: Nil for a store with neither.
    /// - Throws: The error of reading a model.
    package static func version(
        of relative: String, on connection: Connection, metadata: StoreMetadata
    ) throws -> ModelVersion? {
        if let cached = try ModelCache.version(in: connection) { return cached }
        let folder = relative.split(separator: "/").first.map(String.init) ?? ""
        return try sources(below: folder).first { $0.hashes == metadata.hashes }
    }
}
