import FerryBase
import FerryMapping
import Foundation
import TestSupport

/// A folder of mapping files that tests write and load.
struct MappingFolder {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func path(_ name: String) -> String { folder.file(name) }

    /// Writes a file and creates its folders.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let path = folder.file(name)
        try FileManager.default.createDirectory(
            atPath: FileLayer.parent(of: path), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    func load(_ name: String) throws -> MappingModel { try MappingFile.load(path: folder.file(name)) }

    /// Returns the error of loading a file; nil on success.
    func error(of name: String) -> FerryError? {
        do {
            _ = try MappingFile.load(path: folder.file(name))
            return nil
        } catch {
            return error
        }
    }
}

/// Returns the error of loading this text as `Step.json`.
func errorOfJSON(_ text: String) throws -> FerryError? {
    let folder = try MappingFolder()
    try folder.write(text, to: "Step.json")
    return folder.error(of: "Step.json")
}

/// Returns a text with one entity mapping, whose members begin on line 3.
func stepJSON(_ members: String) -> String {
    """
    { "source": "A", "destination": "B",
      "entityMappings": [ { "name": "M",
    \(members)
      } ] }
    """
}
