internal import FerryBase

/// Writes a file on a second thread; unchecked, because only that thread uses the file.
final class ContentWriter: @unchecked Sendable {
    private final class Slot {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: ArchiveReader.pieceBytes, alignment: 4096)
        var count = 0

        deinit { bytes.deallocate() }
    }

    private var output: OutputFile

    init(_ output: consuming OutputFile) { self.output = output }

    /// Runs the body, which writes pieces of at most ``ArchiveReader/pieceBytes``, and makes them durable; called once.
    ///
    /// - Throws: The body's error, or ``FerryError`` when the file cannot be written.
    func run(_ body: ((UnsafeRawBufferPointer) throws -> Void) throws -> Void) throws {
        let slots = SlotLine((0..<3).map { _ in Slot() })
        try slots.run("ferry.restoration") {
            try body { piece in
                try slots.fill { slot in
                    slot.bytes.copyMemory(from: piece)
                    slot.count = piece.count
                }
            }
        } taking: { [self] slot in
            try output.write(UnsafeRawBufferPointer(rebasing: slot.bytes[..<slot.count]))
        } atEnd: { [self] isWhole in
            if isWhole { try output.sync() }
            try output.close()
        }
    }
}
