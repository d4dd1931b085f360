/// The bytes that this process has passed to write calls and got from read calls, cached or not.
///
/// Each system has its own `now()`, and `peakMemory()` for the most bytes that the process has held; both return nil if the
/// system does not report the number.
package struct ProcessUse: Sendable {
    var read: Int64
    var written: Int64
}
