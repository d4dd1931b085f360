internal import CSQLite
internal import FerryBase

/// Whether a request for a stop wants the walk to end, as it would end a statement.
final class Interruption: Sendable {
    private let stop: StopRequest
    private let isRaised = Locked(false)
    private let token: Int

    init(_ stop: StopRequest) {
        self.stop = stop
        token = stop.add { [isRaised] in isRaised.withLock { $0 = true } }
    }

    func end() { stop.remove(interrupter: token) }

    func check() throws(DatabaseError) {
        if isRaised.withLock({ $0 }) {
            throw DatabaseError(code: SQLITE_INTERRUPT, message: "interrupted")
        }
    }
}
