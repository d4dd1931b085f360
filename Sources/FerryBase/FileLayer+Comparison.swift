#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension FileLayer {
    /// How the content of a file stands to that of another one.
    package enum Comparison: Sendable {
        case same
        /// It ends early, and is the same up to there.
        case cutOff
        case different
    }

    /// Compares the content of a file with that of the one that it should equal, byte for byte.
    package func compare(_ path: String, with expected: String) throws(FerryError) -> Comparison {
        let (first, second) = (try attributes(path), try attributes(expected))
        if first.device == second.device, first.inode == second.inode { return .same }
        // Only regular files have an end.
        guard first.isRegularFile, second.isRegularFile, first.size <= second.size else { return .different }
        let own = try open(path)
        let other = try open(expected)
        let bytes = 128 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * bytes, alignment: 4096)
        defer { buffer.deallocate() }
        let ownPiece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes])
        let otherPiece = UnsafeMutableRawBufferPointer(rebasing: buffer[bytes...])
        var offset: Int64 = 0
        while true {
            let count = try own.read(into: ownPiece, at: offset)
            let otherCount = try other.read(into: otherPiece, at: offset)
            guard count <= otherCount, memcmp(ownPiece.baseAddress!, otherPiece.baseAddress!, count) == 0 else {
                return .different
            }
            if count < otherCount { return .cutOff }
            if count == 0 { return .same }
            offset += Int64(count)
        }
    }
}
