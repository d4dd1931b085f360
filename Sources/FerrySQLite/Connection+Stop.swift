internal import CSQLite
package import FerryBase

extension Connection {
    /// Lets a request for a stop end statements that take too long, until the body returns.
    ///
    /// What is ended throws a ``DatabaseError`` that ``DatabaseError/isInterrupted``, and its transaction is rolled back.
    package func abandoning<Result>(on stop: StopRequest, _ body: () throws -> Result) rethrows -> Result {
        let abandonment = Abandonment(of: self, on: stop)
        defer { abandonment.end() }
        return try body()
    }

    /// The same until this connection closes.
    package func abandonStatements(on stop: StopRequest) {
        abandonment?.end()
        abandonment = Abandonment(of: self, on: stop)
    }
}

/// A connection whose statements a request for a stop ends.
final class Abandonment {
    private let stop: StopRequest
    private let token: Int

    init(of connection: Connection, on stop: StopRequest) {
        self.stop = stop
        // SQLite lets any thread interrupt; the connection ends this before it closes the handle.
        nonisolated(unsafe) let handle = connection.handle
        token = stop.add { sqlite3_interrupt(handle) }
    }

    func end() { stop.remove(interrupter: token) }
}
