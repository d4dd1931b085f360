internal import CSQLite

extension Connection {
    /// The body of a scalar function of ours.
    package typealias Function = (borrowing FunctionArguments, inout FunctionResult) throws -> Void

    /// Who may call a function.
    package enum FunctionAccess: Sendable {
        /// Statements of ours only: nothing in a file's schema can reach it.
        case statements
        /// Triggers, views and generated columns of the file too; such a function must be harmless whatever it is given.
        case schema
    }

    /// Makes a scalar function known to this connection.
    ///
    /// What the body throws ends the statement with a ``DatabaseError``; ``takeFunctionError()`` then gives it back.
    ///
    /// - Parameters:
    ///   - name: Its name in SQL.
    ///   - arguments: How many it takes; -1 for any number.
    ///   - deterministic: Whether equal arguments always give an equal result.
    ///   - access: Who may call it.
    ///   - body: Reads the arguments and sets the result; it may run statements of its own on this connection.
    /// - Throws: ``DatabaseError`` when SQLite refuses the name or the number of arguments.
    package func register(
        _ name: String, arguments: Int, deterministic: Bool, access: FunctionAccess = .statements,
        _ body: @escaping Function
    ) throws(DatabaseError) {
        let function = Unmanaged.passRetained(RegisteredFunction(name: name, body: body, connection: self))
        var flags = SQLITE_UTF8
        if deterministic { flags |= SQLITE_DETERMINISTIC }
        flags |= access == .statements ? SQLITE_DIRECTONLY : SQLITE_INNOCUOUS
        // On failure SQLite has already called the destructor.
        let code = sqlite3_create_function_v2(
            handle, name, Int32(arguments), flags, function.toOpaque(),
            { context, count, values in
                Unmanaged<RegisteredFunction>.fromOpaque(sqlite3_user_data(context))._withUnsafeGuaranteedRef {
                    $0.call(context, count, values)
                }
            }, nil, nil, { Unmanaged<RegisteredFunction>.fromOpaque($0!).release() })
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// What a function or table-valued function of ours threw last, or nil; it is then forgotten.
    ///
    /// Call it after a statement failed, to tell an error of ours from one of SQLite.
    package func takeFunctionError() -> (any Error)? {
        defer { functionError = nil }
        return functionError
    }

    /// Takes over what a function threw on another connection that worked for this one.
    package func takeOver(functionError error: (any Error)?) { functionError = error }
}

private final class RegisteredFunction {
    private let name: String
    private let body: Connection.Function
    // SQLite drops its functions when the connection closes, so the connection outlives them.
    private unowned let connection: Connection

    init(name: String, body: @escaping Connection.Function, connection: Connection) {
        self.name = name
        self.body = body
        self.connection = connection
    }

    func call(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
        let arguments = FunctionArguments(count, values)
        var result = FunctionResult(context)
        do {
            try body(arguments, &result)
        } catch {
            connection.functionError = error
            // The thrown error has the words; its text could hold what must not be in a message of SQLite.
            sqlite3_result_error(context, "\(name) failed", -1)
            // What stopped a statement of the function's own stops the calling one: full disk, interrupt, size.
            if let error = error as? DatabaseError { sqlite3_result_error_code(context, error.code) }
        }
    }
}
