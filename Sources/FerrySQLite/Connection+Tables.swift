internal import CSQLite

/// One scan of a table-valued function, which makes its rows one by one.
///
/// SQLite may restart a cursor, as in a join. The cursor must copy bytes that it needs after ``start(_:)``.
package protocol TableCursor: AnyObject {
    /// Starts a scan, before its first row.
    ///
    /// - Throws: Any error; ``Connection/takeFunctionError()`` returns it.
    func start(_ arguments: borrowing FunctionArguments) throws

    /// Moves to the first, then to the next row.
    ///
    /// - Returns: False at the end.
    /// - Throws: As ``start(_:)``.
    func next() throws -> Bool

    /// Sets the value of a column of the current row, counted from 0.
    ///
    /// - Throws: As ``start(_:)``.
    func column(_ index: Int, _ result: inout FunctionResult) throws
}

extension Connection {
    /// Registers a table-valued function on this connection: `SELECT … FROM name(argument, …)`.
    ///
    /// A file's schema cannot use it. Each call must give all arguments. SQLite opens a cursor for each use.
    package func register(
        table name: String, columns: [String], argumentCount: Int, makeCursor: @escaping () -> any TableCursor
    ) throws(DatabaseError) {
        precondition(!columns.isEmpty && argumentCount >= 0, "a table-valued function has columns")
        let table = RegisteredTable(
            columns: columns, argumentCount: argumentCount, connection: self, makeCursor: makeCursor)
        let code = sqlite3_create_module_v2(
            handle, name, table.module, Unmanaged.passRetained(table).toOpaque(),
            { Unmanaged<RegisteredTable>.fromOpaque($0!).release() })
        guard code == SQLITE_OK else { throw error(code) }
    }
}

/// A table-valued function as SQLite's eponymous virtual table.
private final class RegisteredTable {
    let columns: [String]
    let argumentCount: Int
    unowned let connection: Connection
    let makeCursor: () -> any TableCursor
    let module: UnsafeMutablePointer<sqlite3_module>

    init(columns: [String], argumentCount: Int, connection: Connection, makeCursor: @escaping () -> any TableCursor) {
        self.columns = columns
        self.argumentCount = argumentCount
        self.connection = connection
        self.makeCursor = makeCursor
        module = .allocate(capacity: 1)
        module.initialize(to: Self.methods())
    }

    deinit { module.deallocate() }

    var declaration: String {
        let names = columns.map { "\"\($0)\"" } + (0..<argumentCount).map { "\"argument \($0)\" HIDDEN" }
        return "CREATE TABLE x(\(names.joined(separator: ", ")))"
    }

    /// One use of the table: SQLite's part first, then the Swift object.
    struct Instance {
        var base = sqlite3_vtab()
        var table: Unmanaged<RegisteredTable>
    }

    struct CursorInstance {
        var base = sqlite3_vtab_cursor()
        var scan: Unmanaged<Scan>
    }

    final class Scan {
        let cursor: any TableCursor
        let columnCount: Int
        unowned let connection: Connection
        var row: Int64 = 0
        var isAtEnd = false

        init(of table: RegisteredTable) {
            cursor = table.makeCursor()
            columnCount = table.columns.count
            connection = table.connection
        }

        func attempt(_ body: () throws -> Void) -> Int32 {
            do {
                try body()
                return SQLITE_OK
            } catch {
                connection.functionError = error
                // The error code of a read inside the function ends the calling statement too.
                return (error as? DatabaseError)?.code ?? SQLITE_ERROR
            }
        }

        func advance() throws {
            isAtEnd = try !cursor.next()
            row += 1
        }
    }

    private static func scan(_ cursor: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> Unmanaged<Scan> {
        UnsafeMutableRawPointer(cursor!).assumingMemoryBound(to: CursorInstance.self).pointee.scan
    }

    private static func table(_ table: UnsafeMutablePointer<sqlite3_vtab>?) -> Unmanaged<RegisteredTable> {
        UnsafeMutableRawPointer(table!).assumingMemoryBound(to: Instance.self).pointee.table
    }

    /// Requires an `=` for every argument; arguments are hidden columns after the visible ones.
    private func plan(_ info: UnsafeMutablePointer<sqlite3_index_info>) -> Int32 {
        for argument in 0..<argumentCount {
            let column = Int32(columns.count + argument)
            let given = (0..<Int(info.pointee.nConstraint)).first { index in
                let constraint = info.pointee.aConstraint[index]
                return constraint.iColumn == column && constraint.usable != 0
                    && Int32(constraint.op) == SQLITE_INDEX_CONSTRAINT_EQ
            }
            guard let given else { return SQLITE_CONSTRAINT }
            info.pointee.aConstraintUsage[given].argvIndex = Int32(argument + 1)
            info.pointee.aConstraintUsage[given].omit = 1
        }
        // Far cheaper than any table, so that SQLite puts the function inside the loop that gives its arguments.
        info.pointee.estimatedCost = 1
        info.pointee.estimatedRows = 8
        return SQLITE_OK
    }

    private static func methods() -> sqlite3_module {
        var methods = sqlite3_module()
        methods.iVersion = 1
        // Without xCreate the table is eponymous only: no SQL can create it.
        methods.xConnect = { handle, table, _, _, result, _ in
            let code = Unmanaged<RegisteredTable>.fromOpaque(table!)._withUnsafeGuaranteedRef {
                sqlite3_declare_vtab(handle, $0.declaration)
            }
            guard code == SQLITE_OK else { return code }
            _ = ferry_sqlite3_vtab_config(handle!, SQLITE_VTAB_DIRECTONLY)
            let instance = UnsafeMutablePointer<Instance>.allocate(capacity: 1)
            instance.initialize(to: Instance(table: Unmanaged<RegisteredTable>.fromOpaque(table!)))
            result!.pointee = UnsafeMutableRawPointer(instance).assumingMemoryBound(to: sqlite3_vtab.self)
            return SQLITE_OK
        }
        methods.xDisconnect = { table in
            UnsafeMutableRawPointer(table!).assumingMemoryBound(to: Instance.self).deallocate()
            return SQLITE_OK
        }
        methods.xBestIndex = { table, info in
            RegisteredTable.table(table)._withUnsafeGuaranteedRef { $0.plan(info!) }
        }
        methods.xOpen = { table, result in
            let scan = RegisteredTable.table(table)._withUnsafeGuaranteedRef { Unmanaged.passRetained(Scan(of: $0)) }
            let instance = UnsafeMutablePointer<CursorInstance>.allocate(capacity: 1)
            instance.initialize(to: CursorInstance(scan: scan))
            result!.pointee = UnsafeMutableRawPointer(instance).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
            return SQLITE_OK
        }
        methods.xClose = { cursor in
            RegisteredTable.scan(cursor).release()
            UnsafeMutableRawPointer(cursor!).assumingMemoryBound(to: CursorInstance.self).deallocate()
            return SQLITE_OK
        }
        methods.xFilter = { cursor, _, _, count, values in
            RegisteredTable.scan(cursor)._withUnsafeGuaranteedRef { scan in
                scan.attempt {
                    scan.row = 0
                    scan.isAtEnd = false
                    try scan.cursor.start(FunctionArguments(count, values))
                    try scan.advance()
                }
            }
        }
        methods.xNext = { cursor in
            RegisteredTable.scan(cursor)._withUnsafeGuaranteedRef { scan in scan.attempt { try scan.advance() } }
        }
        methods.xEof = { cursor in RegisteredTable.scan(cursor)._withUnsafeGuaranteedRef { $0.isAtEnd ? 1 : 0 } }
        methods.xColumn = { cursor, context, column in
            RegisteredTable.scan(cursor)._withUnsafeGuaranteedRef { scan in
                // Hidden columns pass arguments only: their values are not kept.
                guard column < scan.columnCount else { return SQLITE_OK }
                return scan.attempt {
                    var result = FunctionResult(context)
                    try scan.cursor.column(Int(column), &result)
                }
            }
        }
        methods.xRowid = { cursor, row in
            row!.pointee = RegisteredTable.scan(cursor)._withUnsafeGuaranteedRef { $0.row }
            return SQLITE_OK
        }
        return methods
    }
}
