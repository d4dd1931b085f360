internal import CDatabase
internal import CSQLite

extension Connection {
    package typealias Function = (borrowing FunctionArguments, inout FunctionResult) throws -> Void

    /// Registers a scalar function on this connection.
    ///
    /// An error of the body ends the statement with a ``DatabaseError``; ``takeFunctionError()`` returns the error.
    ///
    /// With -1 the function takes any number of arguments. The file's schema can call it only if `isForSchema`; it must
    /// then be harmless for all arguments. The body may run statements on this connection.
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

    /// Registers an aggregate function on this connection; `make` is called for each group of rows.
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

    /// Registers that function once: a second registration would fail while statements use it.
    func registerReading() throws(DatabaseError) {
        if hasReadingFunction { return }
        let code = ferry_sqlite3_register_reading(handle, Self.readingFunction)
        guard code == SQLITE_OK else { throw error(code) }
        hasReadingFunction = true
    }

    /// Returns and clears the last error of a registered function or table-valued function.
    ///
    /// For use after a failed statement, to distinguish errors of a function from errors of SQLite.
    package func takeFunctionError() -> (any Error)? {
        defer { functionError = nil }
        return functionError
    }

    fileprivate func fail(_ context: OpaquePointer?, in name: String, _ error: any Error) {
        functionError = error
        // Without the error's text, which must not get into a message of SQLite.
        sqlite3_result_error(context, "\(name) failed", -1)
        // The error code of a statement inside the function ends the calling statement too: full disk, interrupt, size.
        if let error = error as? DatabaseError { sqlite3_result_error_code(context, error.code) }
    }

    /// Stores the error of a function on another connection that worked for this one.
    package func takeOver(functionError error: (any Error)?) { functionError = error }
}

package protocol SQLAggregate: AnyObject {
    func step(_ arguments: borrowing FunctionArguments) throws
    func finish(_ result: inout FunctionResult) throws
}

private final class RegisteredFunction {
    private let name: String
    private let body: Connection.Function
    // SQLite releases its functions when the connection closes, so the connection outlives them.
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
            // Zero rows have a result too.
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
