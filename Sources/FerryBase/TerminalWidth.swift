internal import CSystem

/// The columns of the terminal that a file descriptor is open on; nil where it is open on none, or where that does not
/// tell.
package func terminalColumns(ofDescriptor descriptor: Int32) -> Int? {
    let columns = ferry_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
}
