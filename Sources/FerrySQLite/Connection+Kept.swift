internal import CSQLite

extension Connection {
    /// Refuses every statement of this connection that would write rows of these tables of its main database, also by a
    /// trigger; the statement is not prepared.
    ///
    /// None ends it. An authorizer of SQLite, which sees the tables of each statement that is prepared. Large values written through
    /// ``BlobHandle`` pass it, so that the handle looks at the same list.
    package func keep(_ tables: Set<String>) {
        guard !tables.isEmpty else {
            keptTables = nil
            sqlite3_set_authorizer(handle, nil, nil)
            return
        }
        let list = KeptTableNames(tables)
        keptTables = list
        let pointer = Unmanaged.passUnretained(list).toOpaque()
        sqlite3_set_authorizer(
            handle,
            { list, action, table, _, database, _ in
                guard let list, let table, let database,
                    [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(action), String(cString: database) == "main"
                else { return SQLITE_OK }
                let kept = Unmanaged<KeptTableNames>.fromOpaque(list).takeUnretainedValue()
                return kept.names.contains(String(cString: table).uppercased()) ? SQLITE_DENY : SQLITE_OK
            }, pointer)
    }

    func keeps(_ table: String) -> Bool { keptTables?.names.contains(table.uppercased()) == true }
}

/// The upper-case names of tables whose rows a connection must not write.
final class KeptTableNames {
    let names: Set<String>

    init(_ tables: Set<String>) { names = Set(tables.map { $0.uppercased() }) }
}
