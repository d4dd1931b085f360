/// A long text that is read in pieces.
package protocol JSONText: AnyObject {
    var count: Int { get }

    /// Fills the buffer from an offset; all its bytes lie within the text.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws
}

/// The piece of a long text that is in memory; it moves along with the scanner, and grows for an element that is longer.
final class JSONWindow {
    private let source: any JSONText
    private let step: Int
    private var buffer: UnsafeMutableRawBufferPointer
    /// The place of the piece in the whole text.
    private(set) var start = 0
    private var count = 0
    /// The error of a read; the text then seems to end.
    private(set) var failure: (any Error)?

    /// `step`: the bytes of a read.
    init(_ source: any JSONText, step: Int) {
        (self.source, self.step) = (source, step)
        buffer = .allocate(byteCount: 2 * step, alignment: 1)
    }

    deinit { buffer.deallocate() }

    var text: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }

    func move(to offset: Int) { (start, count) = (offset, 0) }

    /// Reads on, and drops the bytes before a place in the piece; false at the end of the text.
    func advance(keeping kept: Int) -> Bool {
        let added = min(step, source.count - start - count)
        guard failure == nil, added > 0 else { return false }
        let rest = UnsafeRawBufferPointer(rebasing: buffer[kept..<count])
        if rest.count + added > buffer.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * buffer.count, alignment: 1)
            larger.copyMemory(from: rest)
            buffer.deallocate()
            buffer = larger
        } else if kept > 0 {
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<rest.count]).copyMemory(from: rest)
        }
        (start, count) = (start + kept, rest.count)
        do {
            try source.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[count..<count + added]), at: start + count)
        } catch {
            failure = error
            return false
        }
        count += added
        return true
    }
}
