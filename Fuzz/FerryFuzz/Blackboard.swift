#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file in the memory of two processes, in which a worker records its next input.
///
/// When the worker ends by a signal or hangs, its parent reads the input from this file.
final class Blackboard {
    private static let inputLimit = 1 << 20
    private static let headerBytes = 64

    private let memory: UnsafeMutableRawBufferPointer

    init(path: String) throws {
        let size = Self.headerBytes + Self.inputLimit
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, off_t(size)) == 0,
            let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), start != MAP_FAILED
        else { throw FuzzFailure("\(path) cannot be mapped.") }
        close(descriptor)
        memory = UnsafeMutableRawBufferPointer(start: start, count: size)
    }

    deinit { munmap(memory.baseAddress!, memory.count) }

    private subscript(word: Int) -> Int {
        get { memory.load(fromByteOffset: word * 8, as: Int.self) }
        set { memory.storeBytes(of: newValue, toByteOffset: word * 8, as: Int.self) }
    }

    /// The number of started executions, the running execution included.
    var begun: Int { self[0] }
    /// The number of inputs that were read without an error.
    var accepted: Int {
        get { self[2] }
        set { self[2] = newValue }
    }
    /// The number of inputs that the worker kept because the reader refused them with a new error.
    var kept: Int {
        get { self[3] }
        set { self[3] = newValue }
    }
    /// The longest execution, in microseconds.
    var longest: Int {
        get { self[4] }
        set { self[4] = newValue }
    }
    /// Whether an execution exceeded the memory limit.
    var usedTooMuchMemory: Bool {
        get { self[5] != 0 }
        set { self[5] = newValue ? 1 : 0 }
    }
    /// Whether all executions are done.
    var isDone: Bool {
        get { self[6] != 0 }
        set { self[6] = newValue ? 1 : 0 }
    }

    /// Records an input before the worker reads it.
    func note(_ input: [UInt8], execution: Int) {
        let count = min(input.count, Self.inputLimit)
        self[1] = count
        UnsafeMutableRawBufferPointer(rebasing: memory[Self.headerBytes...]).copyBytes(from: input[..<count])
        self[0] = execution + 1
    }

    var input: [UInt8] { Array(memory[Self.headerBytes..<Self.headerBytes + min(max(self[1], 0), Self.inputLimit)]) }

    /// Clears the counts, before another reader starts.
    func reset() {
        for word in 0..<8 { self[word] = 0 }
    }

    func goOn() { (usedTooMuchMemory, isDone) = (false, false) }
}
