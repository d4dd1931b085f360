internal import Dispatch
internal import FerryBase
internal import Foundation

/// The orders of an operator to a running call, through two small files in its run folder.
///
/// `call.json` is the call's own: its identifier, and what it does at present. `control.json` is the operator's, and names
/// the call that it is for: orders to a call that has ended have no effect on the next one. Both appear by a rename and
/// without a sync, since no run resumes from them.
final class RunControl: Sendable {
    /// The content of `call.json`.
    struct Call: Codable, Sendable {
        var ferry = 1
        var call: String
        /// Whether the call changes the store itself by one transaction, which cannot rest.
        var isOneTransaction: Bool
        /// Whether the call copies rows in chunks.
        var hasChunks: Bool
        /// The orders that the call has read.
        var orders = Pace.Orders()
        /// Whether the work has come to a halt.
        var isAtRest = false
    }

    /// The content of `control.json`.
    struct Order: Codable, Sendable {
        var ferry = 1
        var call: String
        var orders = Pace.Orders()
        var stops = false
    }

    static func callPath(in folder: String) -> String { folder + "/call.json" }
    static func orderPath(in folder: String) -> String { folder + "/control.json" }

    private static let intervalMilliseconds = 100

    private let folder: String
    private let stop: StopRequest
    private let pace = Pace()
    private let state: Locked<(call: Call, seen: FileAttributes?, isOver: Bool)>
    private let queue = DispatchQueue(label: "ferry.control")

    /// Begins to look for orders to the present call, which holds the lock of the run folder.
    init(in folder: String, isOneTransaction: Bool, hasChunks: Bool, stop: StopRequest) {
        self.folder = folder
        self.stop = stop
        let call = Call(call: UUID().uuidString, isOneTransaction: isOneTransaction, hasChunks: hasChunks)
        state = Locked((call, nil, false))
        pace.connect(
            look: { [weak self] in self?.look() },
            onPause: { [weak self] isAtRest in self?.change { $0.isAtRest = isAtRest } })
        Self.remove(Self.orderPath(in: folder))
        change { _ in }
        stop.pace = pace
        lookLater()
    }

    private func lookLater() {
        queue.asyncAfter(deadline: .now() + .milliseconds(Self.intervalMilliseconds)) { [weak self] in
            guard let self, !state.withLock({ $0.isOver }) else { return }
            look()
            lookLater()
        }
    }

    /// Ends the call's files; the folder may be gone already.
    func end() {
        stop.pace = nil
        state.withLock { state in
            state.isOver = true
            Self.remove(Self.callPath(in: folder))
            Self.remove(Self.orderPath(in: folder))
        }
    }

    private func look() {
        let path = Self.orderPath(in: folder)
        let order = state.withLock { state -> Order? in
            // A file layer of its own, whose operations the run does not count; an unreadable file has no orders.
            let files = FileLayer()
            do {
                guard !state.isOver, let found = try files.attributesIfPresent(path), found != state.seen else {
                    return nil
                }
                state.seen = found
                let order = try files.decoded(Order.self, at: path)
                return order?.call == state.call.call ? order : nil
            } catch {
                return nil
            }
        }
        guard let order else { return }
        pace.set(order.orders)
        change { $0.orders = order.orders }
        if order.stops { stop.request(.stoppedByOperator) }
    }

    private func change(_ body: (inout Call) -> Void) {
        state.withLock { state in
            guard !state.isOver else { return }
            body(&state.call)
            // Only `status` and `control` read it; the run does not depend on it.
            do { try FileLayer().putAside(state.call, to: Self.callPath(in: folder)) } catch {}
        }
    }

    private static func remove(_ path: String) {
        // A file that stays names a call that has ended.
        do { try FileLayer().removeIfPresent(path) } catch {}
    }
}

extension FileLayer {
    /// Writes a small file for readers of a running call: a rename without a sync.
    func putAside(_ content: some Encodable, to path: String) throws {
        let aside = path + ".new"
        try removeIfPresent(aside)
        var output = try create(aside, mode: 0o600)
        try output.write([UInt8](JSONEncoder().encode(content)))
        try output.close()
        try rename(aside, to: path)
    }
}

extension FerryError {
    fileprivate static let stoppedByOperator = FerryError(
        .interrupted, "An operator stopped the migration; it can be resumed.",
        remedy: "\(action: .again) to continue, or with \(on: .restart) to start over.")
}
