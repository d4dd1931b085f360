internal import FerryBase
internal import FerryExpression
internal import FerrySQLite
internal import FerryStore

/// Gives the contents of values that may stand in files, where the new attribute keeps its values in the rows.
struct ExternalContents: Sendable {
    /// The folder of the store's external files.
    let folder: String
    /// Whether a value whose file is not there becomes NULL; else that is an error.
    var dropsMissing = false
    /// The largest file that may be whole in memory.
    var limit = 1_000_000_000

    func register(on connection: Connection) throws(DatabaseError) {
        try connection.register(ScalarFunction.fromExternalName, arguments: 1, deterministic: false) {
            [self] arguments, result in
            guard arguments.storageClass(0) == .blob else {
                if arguments.storageClass(0) != .null { throw Self.damaged("has a value that is no binary data") }
                return result.setNull()
            }
            try arguments.withBytes(0) { bytes in
                if bytes.first == 1 { return result.setBlob(UnsafeRawBufferPointer(rebasing: bytes.dropFirst())) }
                guard let name = ExternalData.fileName(in: bytes) else {
                    throw Self.isNeitherContentsNorName
                }
                guard let contents = try contents(name) else { return result.setNull() }
                contents.withUnsafeBytes { result.setBlob($0) }
            }
        }
    }

    private func contents(_ name: String) throws -> [UInt8]? {
        let (path, files) = (folder + "/" + name, FileLayer())
        guard try files.exists(path) else {
            if dropsMissing { return nil }
            throw Self.damaged("names a file that is not in \(folder)")
        }
        return try files.read(path, limit: limit)
    }

    static var isNeitherContentsNorName: FerryError {
        damaged("has a value that neither holds its contents nor names a file")
    }

    private static func damaged(_ problem: String) -> FerryError {
        FerryError(
            .rowFailed, "An attribute with external storage \(problem).",
            remedy: "Restore the store together with its _SUPPORT folder, or give the attribute another value.")
    }
}
