internal import CSQLite

extension Connection {
    /// The body of a scalar function of ours.
    package typealias Function = (borrowing FunctionArguments, inout FunctionResult) throws -> Void

    /// Makes a scalar function known to this connection.
    ///
    /// What the body throws ends the statement with a ``DatabaseError``; ``takeFunctionError()`` then gives it back.
    ///
    /// It takes so many arguments, or with -1 any number. Triggers, views and generated columns of the file may call only
    /// one that is for the schema, which must be harmless whatever it is given. The body may run statements of its own on
    /// this connection.
    package func register(
        _ name: String, arguments: Int, deterministic: Bool, isForSchema: Bool = false,
        _ body: @escaping Function
    ) throws(DatabaseError) {
        let function = Unmanaged.passRetained(RegisteredFunction(name: name, body: body, connection: self))
        var flags = SQLITE_UTF8
        if deterministic { flags |= SQLITE_DETERMINISTIC }
        flags |= isForSchema ? SQLITE_INNOCUOUS : SQLITE_DIRECTONLY
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

    /// Makes an aggregate function known to this connection; `make` begins with a group of rows.
    package func register(
        aggregate name: String, arguments: Int, _ make: @escaping () -> any SQLAggregate
    ) throws(DatabaseError) {
        let function = Unmanaged.passRetained(RegisteredAggregate(name: name, make: make, connection: self))
        // On failure SQLite has already called the destructor.
        let code = sqlite3_create_function_v2(
            handle, name, Int32(arguments), SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, function.toOpaque(),
            nil,
            { context, count, values in
                Unmanaged<RegisteredAggregate>.fromOpaque(sqlite3_user_data(context))._withUnsafeGuaranteedRef {
                    $0.step(context, count, values)
                }
            },
            { context in
                Unmanaged<RegisteredAggregate>.fromOpaque(sqlite3_user_data(context))._withUnsafeGuaranteedRef {
                    $0.finish(context)
                }
            }, { Unmanaged<RegisteredAggregate>.fromOpaque($0!).release() })
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// The aggregate function that reads rows for ``RowSums``.
    static let readingFunction = "ferry_read"

    /// Makes that function known, once: statements that call it may be under way.
    func registerReading() throws(DatabaseError) {
        if knowsReading { return }
        let code = ferry_sqlite3_register_reading(handle, Self.readingFunction)
        guard code == SQLITE_OK else { throw error(code) }
        knowsReading = true
    }

    /// What a function or table-valued function of ours threw last, or nil; it is then forgotten.
    ///
    /// Call it after a statement failed, to tell an error of ours from one of SQLite.
    package func takeFunctionError() -> (any Error)? {
        defer { functionError = nil }
        return functionError
    }

    /// Ends the statement that calls a function of ours with what that threw.
    fileprivate func fail(_ context: OpaquePointer?, in name: String, _ error: any Error) {
        functionError = error
        // The thrown error has the words; its text could hold what must not be in a message of SQLite.
        sqlite3_result_error(context, "\(name) failed", -1)
        // What stopped a statement of the function's own stops the calling one: full disk, interrupt, size.
        if let error = error as? DatabaseError { sqlite3_result_error_code(context, error.code) }
    }

    /// Takes over what a function threw on another connection that worked for this one.
    package func takeOver(functionError error: (any Error)?) { functionError = error }
}

/// An aggregate function's work on the rows of one group.
package protocol SQLAggregate: AnyObject {
    func step(_ arguments: borrowing FunctionArguments) throws
    func finish(_ result: inout FunctionResult) throws
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
            connection.fail(context, in: name, error)
        }
    }
}

private final class RegisteredAggregate {
    private let name: String
    private let make: () -> any SQLAggregate
    // As with RegisteredFunction.
    private unowned let connection: Connection

    init(name: String, make: @escaping () -> any SQLAggregate, connection: Connection) {
        self.name = name
        self.make = make
        self.connection = connection
    }

    func step(_ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
        let size = Int32(MemoryLayout<UnsafeMutableRawPointer?>.size)
        guard let memory = sqlite3_aggregate_context(context, size) else { return sqlite3_result_error_nomem(context) }
        // The aggregate, retained until the group ends.
        let group = memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        let aggregate: any SQLAggregate
        if let known = group.pointee {
            aggregate = Unmanaged<Box>.fromOpaque(known).takeUnretainedValue().aggregate
        } else {
            aggregate = make()
            group.pointee = Unmanaged.passRetained(Box(aggregate)).toOpaque()
        }
        do {
            try aggregate.step(FunctionArguments(count, values))
        } catch {
            connection.fail(context, in: name, error)
        }
    }

    func finish(_ context: OpaquePointer?) {
        let group = sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
        var aggregate: (any SQLAggregate)?
        if let known = group?.pointee {
            aggregate = Unmanaged<Box>.fromOpaque(known).takeRetainedValue().aggregate
            group?.pointee = nil
        }
        var result = FunctionResult(context)
        do {
            // Of no rows there is a value too.
            try (aggregate ?? make()).finish(&result)
        } catch {
            connection.fail(context, in: name, error)
        }
    }

    private final class Box {
        let aggregate: any SQLAggregate

        init(_ aggregate: any SQLAggregate) { self.aggregate = aggregate }
    }
}
