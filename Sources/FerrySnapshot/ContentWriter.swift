internal import FerryBase

/// Writes a file on a second thread, while the caller's makes its content.
///
/// Unchecked, because the ring makes it true: the file is used by the second thread alone.
final class ContentWriter: @unchecked Sendable {
    private final class Slot {
        let bytes: UnsafeMutableRawBufferPointer
        var count = 0

        init() { bytes = .allocate(byteCount: ArchiveReader.pieceBytes, alignment: 4096) }

        deinit { bytes.deallocate() }
    }

    private let slots = SlotWorker((0..<3).map { _ in Slot() })
    private var output: OutputFile

    init(_ output: consuming OutputFile) { self.output = output }

    /// Runs the body, and makes durable what it writes; called once.
    ///
    /// - Parameter body: Gets the function that takes a piece of the content, of at most ``ArchiveReader/pieceBytes``.
    /// - Throws: What the body throws, or ``FerryError`` when the file cannot be written.
    func run(_ body: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
        try slots.start("ferry.restoration") { self.write() }
        do {
            try body { piece in
                try slots.fill { slot in
                    slot.bytes.copyMemory(from: piece)
                    slot.count = piece.count
                }
            }
        } catch {
            isWhole = false
            try slots.finish()
            throw error
        }
        try slots.finish()
    }

    /// Whether what was handed over is all; written before the ring's end.
    private var isWhole = true

    private func write() {
        slots.take {
            try output.write(UnsafeRawBufferPointer(rebasing: $0.bytes[..<$0.count]))
        } atEnd: {
            if isWhole { try output.sync() }
            try output.close()
        }
    }
}
