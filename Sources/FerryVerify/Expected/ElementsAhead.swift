internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerrySQLite
internal import Foundation

/// The elements of a mapping's JSON texts, parsed on a thread of its own while earlier ones are compared.
///
/// New objects that `unique` may find are compared in the order of their sources, on one thread; parsing is half of the
/// work.
final class ElementsAhead {
    private enum Item {
        case object(Int64)
        case element(PlainValue)
        /// The end of an object's elements, with the error of its text.
        case end((any Error)?)
        /// The end of all objects, with the error that ended the reading.
        case last((any Error)?)
    }

    /// Some elements, which bound the memory together with the number of slots.
    private final class Slot {
        var items: [Item] = []
        var bytes = 0
    }

    /// The values of a text take several times as much as its bytes.
    private static let slots = 3
    /// The cache of a connection that reads one table in order.
    private static let cacheBytes = 256 << 10

    private let ring = SlotRing((0..<slots).map { _ in Slot() })
    private let isClosed = Locked(false)
    private var slot: Slot?
    private var place = 0

    /// Starts the thread; nil if the elements are no JSON of the object itself, or nothing would be gained.
    init?(_ mapping: ResolvedEntityMapping, _ range: KeyRange, in context: VerificationContext) throws {
        let verification = context.verification
        let jobs = verification.jobs ?? ProcessInfo.processInfo.activeProcessorCount
        guard jobs > 1, !mapping.unique.isEmpty, let iteration = mapping.iteration,
            case .json(let text, _) = iteration.elements, text.fromSource.sourceKey != nil,
            let pages = try context.connection.integer("PRAGMA source.page_count"),
            let pageBytes = try context.connection.integer("PRAGMA source.page_size"),
            pages * pageBytes >= verification.leastReadAhead
        else { return nil }
        let makeContext = try context.walkerContexts(caches: Self.cacheBytes)
        try WorkThread.start("ferry.elements") { [ring, isClosed] in
            Self.read(iteration, into: ring, of: verification.readAheadBytes, isClosed) {
                let context = try makeContext { _ in }
                let objects = SourceObjects(context)
                let rows = try MappedSourceRows(
                    for: [mapping], onlyEntity: mapping.source, withValues: false, range: range, objects: objects,
                    in: context)
                return (rows, PlainEvaluator(objects: objects, now: verification.now ?? 0))
            }
        }
    }

    // MARK: The reading thread

    private static func read(
        _ iteration: EntityMapping.Iteration, into ring: SlotRing<Slot>, of slotBytes: Int,
        _ isClosed: Locked<Bool>,
        open: () throws -> (MappedSourceRows, PlainEvaluator)
    ) {
        var slot = ring.freeSlot()
        func add(_ item: Item, bytes: Int) {
            slot.items.append(item)
            slot.bytes += bytes
            guard slot.bytes > slotBytes else { return }
            ring.handOver()
            slot = ring.freeSlot()
            slot.items.removeAll(keepingCapacity: true)
            slot.bytes = 0
        }
        var failure: (any Error)?
        do {
            let (rows, evaluator) = try open()
            while !isClosed.withLock({ $0 }), let object = try rows.next() {
                rows.open(object)
                add(.object(object.key), bytes: 16)
                var problem: (any Error)?
                do {
                    try evaluator.eachElement(of: iteration.elements, in: PlainScope(source: object)) { element, _ in
                        if isClosed.withLock({ $0 }) { throw PlainFailure("nobody needs the rest") }
                        add(.element(element), bytes: element.textBytes)
                    }
                } catch let error where error is PlainFailure || error is PlainJSON.Invalid {
                    problem = error
                }
                add(.end(problem), bytes: 16)
            }
        } catch {
            failure = error
        }
        slot.items.append(.last(failure))
        ring.handOver()
    }

    // MARK: The comparing thread

    /// Calls the body with each element of an object's text and its index; objects follow each other in their order.
    ///
    /// - Throws: ``PlainJSON/Invalid`` or ``PlainFailure`` as the text's own, an error of reading, and what the body
    ///   throws.
    func eachElement(of key: Int64, _ body: (PlainValue, Int64) throws -> Void) throws {
        var (index, isFound) = (Int64(0), false)
        while true {
            switch next() {
            case .object(let found):
                isFound = found == key
                guard found <= key else { throw Self.unordered }
            case .element(let element):
                // The body may have ended the elements of an earlier object by an error.
                guard isFound else { continue }
                try body(element, index)
                index += 1
            case .end(let problem):
                guard isFound else { continue }
                if let problem { throw problem }
                return
            case .last(let failure): throw failure ?? Self.unordered
            }
        }
    }

    private static let unordered = FerryError(.internalError, "Two readers of one table found different rows.")

    /// Ends the thread, which may wait for a slot.
    func close() {
        isClosed.withLock { $0 = true }
        while true { if case .last = next() { return } }
    }

    private func next() -> Item {
        while true {
            if let slot, place < slot.items.count {
                let item = slot.items[place]
                if case .last = item { return item }
                place += 1
                return item
            }
            if slot != nil { ring.giveBack() }
            (slot, place) = (ring.filledSlot(), 0)
        }
    }
}

extension PlainValue {
    /// About the bytes of the text that the value was made of.
    fileprivate var textBytes: Int {
        switch self {
        case .json(.array(let container)), .json(.object(let container)): 32 + container.text.count
        case .json(.string(let text)): 32 + text.count
        default: 32
        }
    }
}
