/// A closure that C code calls by a pointer, and its error.
final class CallFromC {
    private let body: () throws -> Void
    private(set) var error: (any Error)?

    init(_ body: @escaping () throws -> Void) { self.body = body }

    /// Calls the closure; false if it throws.
    static func run(_ pointer: UnsafeMutableRawPointer?) -> Bool {
        guard let pointer else { return false }
        let call = Unmanaged<CallFromC>.fromOpaque(pointer).takeUnretainedValue()
        do { try call.body() } catch { call.error = error }
        return call.error == nil
    }
}
