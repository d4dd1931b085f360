/// What this process has given to, and taken from, calls that read and write; cached or not.
package struct ProcessBytes: Sendable {
    package var read: Int64
    package var written: Int64
}
