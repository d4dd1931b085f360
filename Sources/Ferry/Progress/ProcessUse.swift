/// What this process has given to, and taken from, calls that read and write; cached or not.
///
/// On each system `now(files:)` tells it, and `peakMemory(files:)` the most bytes that the process ever held; both give nil
/// where the system does not tell.
package struct ProcessUse: Sendable {
    var read: Int64
    var written: Int64
}
