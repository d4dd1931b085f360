internal import CZlib
package import FerryBase
package import FerryModel
package import FerrySQLite

package enum ModelCache {
    /// Limits for reads into memory: the largest known cached models are below 1 MB, archived and inflated.
    private static let archivedLimit = 4 << 20
    private static let inflatedLimit = 8 << 20

    /// Whether the store has the table, with or without a row.
    package static func hasTable(_ connection: Connection, schema: String = "main") throws(DatabaseError) -> Bool {
        let master = SQLName.quoted(schema, "sqlite_master")
        return try connection.integer("SELECT 1 FROM \(master) WHERE type = 'table' AND name = 'Z_MODELCACHE'") != nil
    }

    package static func hasModel(_ connection: Connection, schema: String = "main") throws(DatabaseError) -> Bool {
        guard try hasTable(connection, schema: schema) else { return false }
        let table = SQLName.quoted(schema, "Z_MODELCACHE")
        return try connection.integer("SELECT 1 FROM \(table) WHERE Z_CONTENT IS NOT NULL LIMIT 1") != nil
    }

    /// Returns the cached model, or nil if the store has none (before framework 637).
    ///
    /// - Throws: `badArchive` if the cached model cannot be read; ``DatabaseError``.
    package static func model(
        in connection: Connection, schema: String = "main"
    ) throws -> ManagedObjectModel? {
        guard let archive = try archive(in: connection, schema: schema) else { return nil }
        return try ArchivedModel.decode(KeyedArchive(archive))
    }

    /// Returns the cached model as a model version, with version hashes computed from it.
    package static func version(
        in connection: Connection, schema: String = "main"
    ) throws -> ModelVersion? {
        guard let model = try model(in: connection, schema: schema) else { return nil }
        return ModelVersion(
            name: "cached model", bundle: nil, path: connection.path, isCurrent: false, model: model,
            hashes: VersionHash.hashes(of: model))
    }

    package static func archive(in connection: Connection, schema: String = "main") throws -> [UInt8]? {
        guard try hasTable(connection, schema: schema) else { return nil }
        let table = SQLName.quoted(schema, "Z_MODELCACHE")
        let rows = try connection.prepare("SELECT Z_CONTENT FROM \(table) WHERE Z_CONTENT IS NOT NULL LIMIT 1")
        defer { rows.reset() }
        // SQLite refuses a longer value before it reads it.
        do {
            guard try connection.with(.length, archivedLimit, rows.step) else { return nil }
        } catch let error as DatabaseError where error.isTooBig {
            throw damaged(connection.path, "it is larger than any model")
        }
        return try rows.withBytes(0) { bytes in
            guard let archive = inflate(bytes, limit: inflatedLimit) else {
                throw damaged(connection.path, "it cannot be decompressed")
            }
            return archive
        }
    }

    /// Replaces the store's cached model.
    ///
    /// A model without a known archived form leaves the table empty: Core Data then needs the model file.
    ///
    /// - Precondition: The store has the table.
    /// - Returns: Whether the model was written.
    /// - Throws: ``DatabaseError``, and errors of the archiver except `unsupported`.
    @discardableResult
    package static func write(_ model: ManagedObjectModel, on connection: Connection) throws -> Bool {
        try connection.execute(writing[0])
        guard let archive = try archive(of: model) else { return false }
        let content = deflated(archive)
        try connection.run(writing[1], [.blob(content)])
        return true
    }

    /// The statements that replace the cached model; the second one is bound with its archive.
    package static let writing = [
        "DELETE FROM \(SQLName.quoted("main", "Z_MODELCACHE"))",
        "INSERT INTO \(SQLName.quoted("main", "Z_MODELCACHE")) (Z_CONTENT) VALUES (?)",
    ]

    /// Returns the keyed archive for ``write(_:on:)``, not deflated; nil if the model has no archived form.
    package static func archive(of model: ManagedObjectModel) throws(FerryError) -> [UInt8]? {
        do {
            return try ArchivedModel.encode(model)
        } catch  where error.code == .unsupported {
            return nil
        }
    }

    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        let code = ferry_deflate_init_raw(&stream)
        precondition(code == Z_OK, "zlib could not begin.")
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        let produced = bytes.withUnsafeBufferPointer { input in
            output.withUnsafeMutableBufferPointer { buffer in
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = buffer.baseAddress
                stream.avail_out = UInt32(buffer.count)
                // The output has zlib's bound, so one call takes everything.
                let code = deflate(&stream, Z_FINISH)
                precondition(code == Z_STREAM_END, "zlib gave more than its own bound.")
                return buffer.count - Int(stream.avail_out)
            }
        }
        output.removeSubrange(produced...)
        return output
    }

    private static func damaged(_ path: String, _ reason: String) -> FerryError {
        FerryError(
            .badArchive, "The model cached in \(path) cannot be read: \(reason).",
            remedy: "Use the model's file instead.")
    }

    /// Inflates raw DEFLATE data to at most `limit` bytes; nil if it is damaged, cut off or larger, or has bytes behind
    /// its end, which no cache of a real store has.
    static func inflate(_ bytes: UnsafeRawBufferPointer, limit: Int) -> [UInt8]? {
        var stream = z_stream()
        guard let count = UInt32(exactly: bytes.count), ferry_inflate_init_raw(&stream) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        stream.next_in = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.avail_in = count
        var code = Z_OK
        // The system gives memory only for what is written.
        let output = [UInt8](unsafeUninitializedCapacity: limit) { buffer, produced in
            stream.next_out = buffer.baseAddress
            stream.avail_out = UInt32(limit)
            code = CZlib.inflate(&stream, Z_FINISH)
            produced = limit - Int(stream.avail_out)
        }
        return code == Z_STREAM_END && stream.avail_in == 0 ? output : nil
    }
}
