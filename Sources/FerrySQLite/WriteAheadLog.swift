internal import CSQLite

/// The committed content of a `-wal`, read through the open file of a connection.
///
/// The `init` reads the log once from front to end: it checks salts and running checksums of every frame as SQLite's
/// recovery does, and the last valid commit is the end. Look-ups use an index of one window of pages at a time,
/// `windowPages` entries of 4 bytes, so memory does not grow with log or database: sequential reads cost one more pass
/// over the frame headers (24 bytes each) per window.
struct WriteAheadLog {
    /// Pages per window: an index of 512 KiB, for 512 MiB of 4 KiB pages.
    static let windowPages = 131_072

    let pageSize: Int
    /// The number of frames up to the last commit, inclusive.
    let frameCount: UInt32
    /// The number of the database's pages after the last commit.
    let pageCount: UInt32
    let header: [UInt8]
    /// The 24 bytes before the last committed page: its salts and checksum identify this state of the log.
    let lastFrameHeader: [UInt8]

    private let file: OpenFile
    private var window = -1
    private var frames: [UInt32] = []
    private var headers: [UInt8] = []

    static let headerSize = 32
    static let frameHeaderSize = 24

    /// Reads the log; nil without a committed frame.
    init?(_ file: OpenFile) throws(DatabaseError) {
        self.file = file
        let size = try file.size()
        guard size > Int64(Self.headerSize + Self.frameHeaderSize) else { return nil }
        var header = [UInt8](repeating: 0, count: Self.headerSize)
        try file.read(&header, at: 0)
        guard var scan = Scan(header) else { return nil }
        pageSize = scan.pageSize
        self.header = header
        var frame = [UInt8](repeating: 0, count: Self.frameHeaderSize + pageSize)
        var offset = Int64(Self.headerSize)
        while offset + Int64(frame.count) <= size {
            try file.read(&frame, at: offset)
            guard scan.take(frame) else { break }
            offset += Int64(frame.count)
        }
        guard scan.committedFrames > 0 else { return nil }
        frameCount = scan.committedFrames
        pageCount = scan.committedPages
        lastFrameHeader = scan.lastFrameHeader
    }

    /// Returns the log offset of a page's content in its last committed frame; nil if only the main file has the page.
    ///
    /// Calls in the order of pages are cheap; a step to another window reads the frame headers again.
    mutating func offset(ofPage page: UInt32) throws(DatabaseError) -> Int64? {
        let wanted = Int((page - 1) / UInt32(Self.windowPages))
        if wanted != window { try load(window: wanted) }
        let frame = frames[Int((page - 1) % UInt32(Self.windowPages))]
        guard frame != 0 else { return nil }
        return offset(ofFrame: frame) + Int64(Self.frameHeaderSize)
    }

    /// Fills the buffer from an offset of ``offset(ofPage:)``.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DatabaseError) {
        try file.read(into: buffer, at: offset, zeroFills: false)
    }

    private func offset(ofFrame frame: UInt32) -> Int64 {
        Int64(Self.headerSize) + Int64(frame - 1) * Int64(Self.frameHeaderSize + pageSize)
    }

    private mutating func load(window wanted: Int) throws(DatabaseError) {
        window = -1
        if frames.isEmpty {
            frames = [UInt32](repeating: 0, count: Self.windowPages)
            headers = [UInt8](repeating: 0, count: 4)
        } else {
            for index in frames.indices { frames[index] = 0 }
        }
        let first = UInt32(wanted * Self.windowPages) + 1
        for frame in 1...frameCount {
            try file.read(&headers, at: offset(ofFrame: frame))
            let page = headers.bigEndian(at: 0)
            // Later frames of a page replace earlier ones.
            if page >= first, page - first < UInt32(Self.windowPages) { frames[Int(page - first)] = frame }
        }
        window = wanted
    }

    private struct Scan {
        let pageSize: Int
        private let salts: [UInt8]
        private let bigEndianChecksums: Bool
        private var checksum = Checksum()
        private var frames: UInt32 = 0
        private(set) var committedFrames: UInt32 = 0
        private(set) var committedPages: UInt32 = 0
        private(set) var lastFrameHeader: [UInt8] = []

        /// Starts with the log's header; nil if the header is invalid.
        init?(_ header: [UInt8]) {
            let magic = header.bigEndian(at: 0)
            let size = header.bigEndian(at: 8)
            guard magic & ~1 == 0x377f_0682, size >= 512, size <= 65536, size & (size - 1) == 0,
                header.bigEndian(at: 4) == 3_007_000
            else { return nil }
            pageSize = Int(size)
            salts = Array(header[16..<24])
            bigEndianChecksums = magic & 1 == 1
            header.withUnsafeBytes { checksum.add($0[..<24], bigEndian: magic & 1 == 1) }
            guard checksum.first == header.bigEndian(at: 24), checksum.second == header.bigEndian(at: 28) else {
                return nil
            }
        }

        /// Checks the next frame; false if it is invalid: the log ends before it.
        mutating func take(_ frame: [UInt8]) -> Bool {
            let page = frame.bigEndian(at: 0)
            guard page != 0, frame[8..<16].elementsEqual(salts) else { return false }
            frame.withUnsafeBytes {
                checksum.add($0[..<8], bigEndian: bigEndianChecksums)
                checksum.add($0[WriteAheadLog.frameHeaderSize...], bigEndian: bigEndianChecksums)
            }
            guard checksum.first == frame.bigEndian(at: 16), checksum.second == frame.bigEndian(at: 20) else {
                return false
            }
            frames += 1
            let pagesAfterCommit = frame.bigEndian(at: 4)
            if pagesAfterCommit != 0 {
                committedFrames = frames
                committedPages = pagesAfterCommit
                lastFrameHeader = Array(frame[..<WriteAheadLog.frameHeaderSize])
            }
            return true
        }
    }

    private struct Checksum {
        var first: UInt32 = 0
        var second: UInt32 = 0

        mutating func add(_ bytes: Slice<UnsafeRawBufferPointer>, bigEndian: Bool) {
            let bytes = UnsafeRawBufferPointer(rebasing: bytes)
            var first = first
            var second = second
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let two = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first &+= (bigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
                second &+= (bigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ first
            }
            self.first = first
            self.second = second
        }
    }
}

extension [UInt8] {
    fileprivate func bigEndian(at offset: Int) -> UInt32 {
        withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }
}
