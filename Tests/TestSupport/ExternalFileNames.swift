internal import FerryBase
package import FerryStore

extension ExternalData {
    /// The names of a store's external files, in no defined order; empty without their folder.
    package static func fileNames(ofStore path: String) throws -> [String] {
        let folder = folder(forStore: path)
        guard try FileLayer().exists(folder) else { return [] }
        return try FileLayer().list(folder).filter { !$0.isDirectory }.map(\.name)
    }
}
