internal import CSQLite
internal import FerryBase
internal import Synchronization

/// Whether a request for a stop wants the walk to end, as it would end a statement.
final class Interruption: Sendable {
    private final class Flag: Sendable { let isRaised = Atomic(false) }

    private let stop: StopRequest
    private let flag = Flag()
    private let token: Int

    init(_ stop: StopRequest) {
        self.stop = stop
        token = stop.add { [flag] in flag.isRaised.store(true, ordering: .relaxed) }
    }

    func end() { stop.remove(interrupter: token) }

    func check() throws(DatabaseError) {
        if flag.isRaised.load(ordering: .relaxed) {
            throw DatabaseError(code: SQLITE_INTERRUPT, message: "interrupted")
        }
    }
}
