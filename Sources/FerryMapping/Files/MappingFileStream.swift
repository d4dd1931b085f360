internal import FerryBase
internal import Foundation

/// The SHA-256 over all files that make up one mapping model, in the order they are read.
final class Fingerprint {
    private var hash: SHA256? = SHA256()

    func update(_ bytes: UnsafeRawBufferPointer) { hash?.update(bytes) }

    func update(_ bytes: [UInt8]) { hash?.update(bytes) }

    /// Ends the use of this fingerprint.
    func finish() -> [UInt8] {
        guard let hash = hash.take() else { preconditionFailure("A fingerprint is finished once.") }
        return hash.finalize()
    }
}

/// A file as a stream for the XML parser, fingerprinted as it passes.
///
/// Foundation's own file stream on Linux goes round the file layer, and writes notes about itself to standard error.
final class MappingFileStream: InputStream {
    private let file: InputFile
    private let fingerprint: Fingerprint
    private var offset: Int64 = 0
    private var failure: FerryError?
    private var check = XMLCheck()
    private var isAtEnd = false
    private var status = Stream.Status.notOpen

    init(_ file: consuming InputFile, fingerprint: Fingerprint) {
        self.file = file
        self.fingerprint = fingerprint
        super.init(data: Data())
    }

    override func open() { status = .open }

    override func close() { status = .closed }

    override var streamStatus: Stream.Status { status }

    override var streamError: (any Error)? { failure }

    override var hasBytesAvailable: Bool { !isAtEnd }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        do throws(FerryError) {
            let target = UnsafeMutableRawBufferPointer(start: buffer, count: length)
            let count = try file.read(into: target, at: offset)
            let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(target)[..<count])
            fingerprint.update(bytes)
            offset += Int64(count)
            isAtEnd = count < length
            // The parser may not see what it cannot bear.
            if let problem = check.take(bytes) ?? (isAtEnd ? check.problemAtEnd : nil) {
                throw FerryError(
                    .badMapping, "\(fileName(of: file.path)) cannot be read: \(problem.rawValue).",
                    remedy: "Open the mapping model in Xcode and save it again, or take an undamaged copy.")
            }
            return count
        } catch {
            failure = error
            isAtEnd = true
            status = .error
            return -1
        }
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }
}
